# Countersign as an image. Build it with `docker build -t countersign .`; docker-compose.yml runs it behind a proxy.
# Every stage stands on the same base: libsql's prebuilt binary is chosen by the C library it is installed under.
ARG NODE_IMAGE=node:24.19.0-bookworm-slim

# Compiles the service and its pages, which takes the development dependencies, and packs what runs.
FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json ./
COPY embedded-mongo/package.json embedded-mongo/
COPY packages/client/package.json packages/client/
# No scripts: neither those of dependencies (T87) nor "prepare", which would build before the sources are here.
RUN npm ci --ignore-scripts
COPY . .
# The context has no .git: --build-arg COMMIT=$(git rev-parse --short=12 HEAD) names the commit in /healthz, log and metrics.
ARG COMMIT
RUN node scripts/build.mjs
RUN npm pack --ignore-scripts && tar -xzf countersign-*.tgz

# What is not bundled, and nothing else.
FROM ${NODE_IMAGE} AS dependencies
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --ignore-scripts --workspaces=false

FROM ${NODE_IMAGE}
LABEL org.opencontainers.image.title="Countersign" \
      org.opencontainers.image.description="Self-hosted human approval for AI agents and applications" \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.licenses="MIT"
ENV NODE_ENV=production \
    HOST=0.0.0.0 \
    PORT=3000 \
    DATA_DIR=/data
WORKDIR /app
# Owned by root: the service cannot change its own code.
COPY --from=dependencies /app/node_modules node_modules/
COPY --from=build /app/package ./
COPY deploy/healthcheck.mjs deploy/
RUN ln -s /app/bin/countersign.mjs /usr/local/bin/countersign \
 && install -d -o node -g node -m 0700 /data
# The embedded store, where STORE=embedded asks for it in place of MONGODB_URI.
VOLUME /data
USER node
EXPOSE 3000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 CMD ["node", "/app/deploy/healthcheck.mjs"]
# Exec form: signals reach node and no shell.
ENTRYPOINT ["node", "/app/bin/countersign.mjs"]
CMD ["serve"]

import de.bwaldvogel.mongo.MongoCollection;
import de.bwaldvogel.mongo.MongoServer;
import de.bwaldvogel.mongo.MongoVersion;
import de.bwaldvogel.mongo.backend.CursorRegistry;
import de.bwaldvogel.mongo.backend.DefaultQueryMatcher;
import de.bwaldvogel.mongo.backend.Index;
import de.bwaldvogel.mongo.backend.IndexKey;
import de.bwaldvogel.mongo.backend.memory.MemoryBackend;
import de.bwaldvogel.mongo.backend.memory.MemoryDatabase;
import de.bwaldvogel.mongo.backend.memory.index.MemoryUniqueIndex;
import de.bwaldvogel.mongo.bson.Document;
import io.netty.channel.Channel;
import java.net.InetSocketAddress;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * mongo-java-server in memory, for scripts/other-store.mjs; ends when its input does. Only what the service cannot do without is
 * added to it: each addition says what of MongoDB is missing there.
 */
class OtherStore {
    public static void main(String[] args) throws Exception {
        var server = new MongoServer(new Backend().version(new Version()));
        // One thread: an answer shares its documents with the collection, where an update would change them while they are written.
        server.bind(new InetSocketAddress("127.0.0.1", 0), 1, 1);
        System.out.println("port " + server.getLocalAddress().getPort());
        System.in.transferTo(java.io.OutputStream.nullOutputStream());
        server.shutdownNow();
    }
}

/** It claims 5.0 and the protocol of 4.2, which the driver refuses. */
class Version implements MongoVersion {
    public List<Integer> getVersionArray() {
        return List.of(6, 0, 0);
    }

    public int getWireVersion() {
        return 17;
    }
}

class Backend extends MemoryBackend {
    @Override
    public MemoryDatabase openOrCreateDatabase(String name) {
        return new Database(name, getCursorRegistry());
    }

    @Override
    public Document handleCommand(Channel channel, String database, String command, Document query) {
        // It knows `hello` by its former name alone.
        var known = command.equals("hello") ? "ismaster" : command;
        var answer = super.handleCommand(channel, database, known, (Document) withPosition(query));
        // An insert that stops at an error counts the documents after it, too.
        if (command.equals("insert") && answer.get("writeErrors") instanceof List<?> errors && query.get("ordered") == Boolean.TRUE)
            answer.put("n", ((Document) errors.get(0)).get("index"));
        return answer;
    }

    /** With two fields in an `$elemMatch` it forgets which element matched, for `$` in the update; not if they stand in an `$and`. */
    private static Object withPosition(Object value) {
        if (value instanceof List<?> list) return list.stream().map(Backend::withPosition).collect(Collectors.toList());
        if (!(value instanceof Document document)) return value;
        var changed = new Document();
        document.forEach((key, inner) -> {
            var fields = key.equals("$elemMatch") && ((Document) inner).keySet().stream().noneMatch(name -> name.startsWith("$"));
            changed.put(key, fields ? new Document("$and", List.of(inner)) : withPosition(inner));
        });
        return changed;
    }
}

/** It makes a partial unique index one of all documents. */
class Database extends MemoryDatabase {
    private Map<String, Document> filters;

    Database(String name, CursorRegistry cursors) {
        super(name, cursors);
    }

    @Override
    protected synchronized void addIndex(Document description) {
        // The parent's constructor comes here.
        if (filters == null) filters = new HashMap<>();
        filters.put(description.get("ns") + " " + description.get("name"), (Document) description.get("partialFilterExpression"));
        super.addIndex(description);
    }

    @Override
    protected Index<Integer> openOrCreateUniqueIndex(String collection, String name, List<IndexKey> keys, boolean sparse) {
        var all = super.openOrCreateUniqueIndex(collection, name, keys, sparse);
        var filter = filters.get(getDatabaseName() + "." + collection + " " + name);
        return filter == null ? all : new PartialIndex(name, keys, filter);
    }
}

class PartialIndex extends Index<Integer> {
    private final MemoryUniqueIndex held;
    private final Document filter;

    PartialIndex(String name, List<IndexKey> keys, Document filter) {
        // To the collection it is sparse: not every document has a place in it.
        super(name, keys, true);
        this.held = new MemoryUniqueIndex(name, keys, false);
        this.filter = filter;
    }

    private boolean holds(Document document) {
        return new DefaultQueryMatcher().matches(document, filter);
    }

    public Integer getPosition(Document document) {
        return holds(document) ? held.getPosition(document) : null;
    }

    public Integer remove(Document document) {
        return holds(document) ? held.remove(document) : null;
    }

    public void checkAdd(Document document, MongoCollection<Integer> collection) {
        if (holds(document)) held.checkAdd(document, collection);
    }

    public void add(Document document, Integer position, MongoCollection<Integer> collection) {
        if (holds(document)) held.add(document, position, collection);
    }

    public void checkUpdate(Document before, Document after, MongoCollection<Integer> collection) {
        if (holds(before) && holds(after)) held.checkUpdate(before, after, collection);
        else checkAdd(after, collection);
    }

    public void updateInPlace(Document before, Document after, Integer position, MongoCollection<Integer> collection) {
        remove(before);
        add(after, position, collection);
    }

    public boolean canHandle(Document query) {
        return false;
    }

    public Iterable<Integer> getPositions(Document query) {
        throw new UnsupportedOperationException();
    }

    public long getCount() {
        return held.getCount();
    }

    public long getDataSize() {
        return held.getDataSize();
    }

    public void drop() {
        held.drop();
    }
}

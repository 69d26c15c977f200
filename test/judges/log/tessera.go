package main

import (
	"context"
	"net/url"

	"github.com/transparency-dev/merkle/proof"
	"github.com/transparency-dev/merkle/rfc6962"
	"github.com/transparency-dev/tessera/api"
	"github.com/transparency-dev/tessera/client"
	"github.com/transparency-dev/tessera/fsck"
	"golang.org/x/mod/sumdb/note"
)

// olderLog is the log for a reader who has only its older checkpoint.
type olderLog struct {
	*client.HTTPFetcher
	checkpoint []byte
}

func (o olderLog) ReadCheckpoint(context.Context) ([]byte, error) { return o.checkpoint, nil }

func leafHashes(bundle []byte) (hashes [][]byte, err error) {
	var parsed api.EntryBundle
	err = parsed.UnmarshalText(bundle)
	for _, entry := range parsed.Entries {
		hashes = append(hashes, rfc6962.DefaultHasher.HashLeaf(entry))
	}
	return hashes, err
}

// tessera compares all tiles of both sizes with the entries, follows the log from the older checkpoint, and proves each entry.
func tessera(g given, verifier note.Verifier) (int64, error) {
	ctx, origin := context.Background(), verifier.Name()
	root, err := url.Parse(g.URL)
	if err != nil {
		return 0, err
	}
	log, err := client.NewHTTPFetcher(root, nil)
	if err != nil {
		return 0, err
	}
	for _, at := range []fsck.Fetcher{olderLog{log, []byte(g.Older)}, log} {
		if err := fsck.New(origin, verifier, at, leafHashes, fsck.Opts{N: 2}).Check(ctx); err != nil {
			return 0, err
		}
	}
	newest := client.UnilateralConsensus(log.ReadCheckpoint)
	tracker, err := client.NewLogStateTracker(ctx, log.ReadTile, []byte(g.Older), verifier, origin, newest)
	if err != nil {
		return 0, err
	}
	if _, _, _, err := tracker.Update(ctx); err != nil {
		return 0, err
	}
	tree := tracker.Latest()
	leaves, err := client.FetchLeafHashes(ctx, log.ReadTile, 0, tree.Size, tree.Size)
	if err != nil {
		return 0, err
	}
	builder, err := client.NewProofBuilder(ctx, tree.Size, log.ReadTile)
	if err != nil {
		return 0, err
	}
	for index, leaf := range leaves {
		path, err := builder.InclusionProof(ctx, uint64(index))
		if err != nil {
			return 0, err
		}
		err = proof.VerifyInclusion(rfc6962.DefaultHasher, uint64(index), tree.Size, leaf, path, tree.Hash)
		if err != nil {
			return 0, err
		}
	}
	return int64(tree.Size), nil
}

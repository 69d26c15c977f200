// Keeps a log with Tessera that publishes what a witness cosigned and nothing else, and then a second history of it. Arguments: address
// and verifier key of the witness, the log's signing key in the form of golang.org/x/mod/sumdb/note, and an empty folder. On stdout the
// sizes that were published, and why the second history was not. Without arguments it makes such a key, and prints it with its
// verifier key.
package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/transparency-dev/formats/log"
	cosignature "github.com/transparency-dev/formats/note"
	"github.com/transparency-dev/tessera"
	"github.com/transparency-dev/tessera/storage/posix"
	"golang.org/x/mod/sumdb/note"
)

func must[T any](value T, err error) T {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return value
}

// grow makes the log in that folder as long as each of the sizes in turn, and shows each checkpoint that is published then.
func grow(ctx context.Context, folder string, options *tessera.AppendOptions, sizes []int, published func([]byte)) tessera.LogReader {
	driver := must(posix.New(ctx, posix.Config{Path: folder}))
	appender, _, reader, err := tessera.NewAppender(ctx, driver, options)
	must(reader, err)
	awaiter := tessera.NewPublicationAwaiter(ctx, reader.ReadCheckpoint, 10*time.Millisecond)
	have := 0
	for _, size := range sizes {
		var last tessera.IndexFuture
		for ; have < size; have++ {
			last = appender.Add(ctx, tessera.NewEntry(fmt.Appendf(nil, "%s %d", folder, have)))
		}
		_, checkpoint, err := awaiter.Await(ctx, last)
		published(must(checkpoint, err))
	}
	return reader
}

func main() {
	if len(os.Args) < 5 {
		secret, public, err := note.GenerateKey(rand.Reader, "log.example.com/tessera")
		fmt.Printf("%s\n%s\n", must(secret, err), public)
		return
	}
	url, vkey, folder := os.Args[1], os.Args[2], os.Args[4]
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Second)
	defer cancel()
	signer := must(note.NewSigner(os.Args[3]))
	witness := must(cosignature.NewVerifierForCosignatureV1(vkey))
	policy := fmt.Sprintf("witness w %s %s\nquorum w\n", vkey, url)
	group := must(tessera.NewWitnessGroupFromPolicy([]byte(policy)))
	unwitnessed := func() *tessera.AppendOptions {
		return tessera.NewAppendOptions().WithCheckpointSigner(signer).WithBatching(1024, 10*time.Millisecond).WithCheckpointInterval(100 * time.Millisecond)
	}
	witnessed := unwitnessed().WithWitnesses(group, nil)
	grow(ctx, filepath.Join(folder, "log"), witnessed, []int{1, 2, 3, 7, 8, 255, 256, 257, 700}, func(checkpoint []byte) {
		opened := must(note.Open(checkpoint, note.VerifierList(witness)))
		var tree log.Checkpoint
		must(tree.Unmarshal([]byte(opened.Text)))
		fmt.Println(tree.Size)
	})

	var tree log.Checkpoint
	forked := grow(ctx, filepath.Join(folder, "fork"), unwitnessed(), []int{701}, func(checkpoint []byte) {
		must(tree.Unmarshal(checkpoint))
	})
	_, err := witnessed.CheckpointPublisher(forked, http.DefaultClient)(ctx, tree.Size, tree.Hash)
	fmt.Printf("%q\n", fmt.Sprint(err))
}

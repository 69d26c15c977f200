// Offers the checkpoints of a log that Go's own packages made to a witness, and verifies each cosignature (C2SP tlog-cosignature).
// Arguments: address and verifier key of the witness, and the log's signing key in the form of golang.org/x/mod/sumdb/note.
// Without arguments it makes such a key, and prints it with its verifier key.
package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

type storage []tlog.Hash

func (s storage) ReadHashes(at []int64) ([]tlog.Hash, error) {
	hashes := make([]tlog.Hash, len(at))
	for i, index := range at {
		hashes[i] = s[index]
	}
	return hashes, nil
}

// Go's packages know no cosignatures.
type cosigner struct {
	name string
	hash uint32
	key  ed25519.PublicKey
}

func (c cosigner) Name() string    { return c.name }
func (c cosigner) KeyHash() uint32 { return c.hash }
func (c cosigner) Verify(text, sig []byte) bool {
	if len(sig) != 72 {
		return false
	}
	header := fmt.Sprintf("cosignature/v1\ntime %d\n", binary.BigEndian.Uint64(sig))
	return ed25519.Verify(c.key, append([]byte(header), text...), sig[8:])
}

func must[T any](value T, err error) T {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return value
}

func main() {
	if len(os.Args) < 4 {
		secret, public, err := note.GenerateKey(rand.Reader, "log.example.com/go")
		fmt.Printf("%s\n%s\n", must(secret, err), public)
		return
	}
	parts := strings.SplitN(os.Args[2], "+", 3)
	key := must(base64.StdEncoding.DecodeString(parts[2]))
	witness := cosigner{parts[0], uint32(must(strconv.ParseUint(parts[1], 16, 32))), key[1:]}
	signer := must(note.NewSigner(os.Args[3]))
	var stored storage
	var old int64
	for _, size := range []int64{1, 2, 3, 7, 8, 255, 256, 257, 700} {
		for n := old; n < size; n++ {
			stored = append(stored, must(tlog.StoredHashes(n, []byte(strconv.FormatInt(n, 10)), stored))...)
		}
		body := bytes.NewBufferString(fmt.Sprintf("old %d\n", old))
		if old > 0 {
			for _, hash := range must(tlog.ProveTree(size, old, stored)) {
				fmt.Fprintln(body, hash)
			}
		}
		text := fmt.Sprintf("%s\n%d\n%s\n", signer.Name(), size, must(tlog.TreeHash(size, stored)))
		signed := must(note.Sign(&note.Note{Text: text}, signer))
		body.WriteString("\n" + string(signed))
		answer := must(http.Post(os.Args[1]+"/add-checkpoint", "text/plain", body))
		lines := must(io.ReadAll(answer.Body))
		must(note.Open(append(signed, lines...), note.VerifierList(witness)))
		fmt.Println(size)
		old = size
	}
}

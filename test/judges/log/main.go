// Judges a log with golang.org/x/mod/sumdb, as the clients of Go's checksum database do, and with Tessera: cases as JSON on
// stdin, each with an address, the verifier key and an older checkpoint; on stdout, for each case and each of the two, the size or what
// does not hold.
package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

type given struct {
	URL   string `json:"url"`
	Vkey  string `json:"vkey"`
	Older string `json:"older"`
}

func get(url string) ([]byte, error) {
	response, err := http.Get(url)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != 200 {
		return nil, fmt.Errorf("%s: %s", url, response.Status)
	}
	return io.ReadAll(response.Body)
}

// open checks the signature, and that the checkpoint is of the log that the key names.
func open(signed []byte, verifier note.Verifier) (tree tlog.Tree, err error) {
	opened, err := note.Open(signed, note.VerifierList(verifier))
	if err != nil {
		return tree, err
	}
	lines := strings.Split(opened.Text, "\n")
	if len(lines) != 4 || lines[0] != verifier.Name() {
		return tree, fmt.Errorf("not a checkpoint of %s", verifier.Name())
	}
	if tree.N, err = strconv.ParseInt(lines[1], 10, 64); err != nil {
		return tree, err
	}
	tree.Hash, err = tlog.ParseHash(lines[2])
	return tree, err
}

// tiles fetches tiles for tlog, which checks each of them against the root.
type tiles struct {
	url  string
	read map[string][]byte
}

func (t tiles) Height() int                         { return 8 }
func (t tiles) SaveTiles(_ []tlog.Tile, _ [][]byte) {}
func (t tiles) ReadTiles(wanted []tlog.Tile) ([][]byte, error) {
	var all [][]byte
	for _, tile := range wanted {
		// tlog's paths name the height as well.
		path := strings.TrimPrefix(tile.Path(), "tile/8/")
		if t.read[path] == nil {
			data, err := get(t.url + "/tile/" + path)
			if err != nil {
				return nil, err
			}
			t.read[path] = data
		}
		all = append(all, t.read[path])
	}
	return all, nil
}

func entries(url string, size int64) (all [][]byte, err error) {
	for n := int64(0); n*256 < size; n++ {
		width := min(256, int(size-n*256))
		path := tlog.Tile{H: 8, L: 0, N: n, W: width}.Path()
		data, err := get(url + "/tile/entries/" + strings.TrimPrefix(path, "tile/8/0/"))
		if err != nil {
			return nil, err
		}
		for rest := data; len(rest) > 0; {
			if len(rest) < 2 || len(rest) < 2+int(binary.BigEndian.Uint16(rest)) {
				return nil, fmt.Errorf("%s: cut short", path)
			}
			length := 2 + int(binary.BigEndian.Uint16(rest))
			all = append(all, rest[2:length])
			rest = rest[length:]
		}
	}
	return all, nil
}

func sumdb(g given, verifier note.Verifier) (int64, error) {
	signed, err := get(g.URL + "/checkpoint")
	if err != nil {
		return 0, err
	}
	tree, err := open(signed, verifier)
	if err != nil {
		return 0, err
	}
	older, err := open([]byte(g.Older), verifier)
	if err != nil {
		return 0, err
	}
	reader := tlog.TileHashReader(tree, tiles{g.URL, map[string][]byte{}})
	growth, err := tlog.ProveTree(tree.N, older.N, reader)
	if err != nil {
		return 0, err
	}
	if err := tlog.CheckTree(growth, tree.N, tree.Hash, older.N, older.Hash); err != nil {
		return 0, err
	}
	all, err := entries(g.URL, tree.N)
	if err != nil || int64(len(all)) != tree.N {
		return 0, fmt.Errorf("%d entries of %d: %v", len(all), tree.N, err)
	}
	for index, entry := range all {
		proof, err := tlog.ProveRecord(tree.N, int64(index), reader)
		if err != nil {
			return 0, err
		}
		if err := tlog.CheckRecord(proof, tree.N, tree.Hash, int64(index), tlog.RecordHash(entry)); err != nil {
			return 0, err
		}
	}
	return tree.N, nil
}

func rule(g given) (verdicts []any) {
	verifier, err := note.NewVerifier(g.Vkey)
	if err != nil {
		return []any{err.Error()}
	}
	for _, judge := range []func(given, note.Verifier) (int64, error){sumdb, tessera} {
		if size, err := judge(g, verifier); err != nil {
			verdicts = append(verdicts, err.Error())
		} else {
			verdicts = append(verdicts, size)
		}
	}
	return verdicts
}

func main() {
	var cases []given
	if err := json.NewDecoder(os.Stdin).Decode(&cases); err != nil {
		panic(err)
	}
	rulings := [][]any{}
	for _, g := range cases {
		rulings = append(rulings, rule(g))
	}
	if err := json.NewEncoder(os.Stdout).Encode(rulings); err != nil {
		panic(err)
	}
}

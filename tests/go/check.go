// A second opinion on an exported log, by code that is not kennel's: Go's
// golang.org/x/mod/sumdb reads the checkpoint, the tiles and the proofs.
//
//	check DIR ORIGIN-VKEY EPOCH-VKEY CHECKPOINTS CERTIFICATE [PROOF...]
//
// It opens the checkpoint with both keys, rebuilds the tree from the records,
// reads records through the tiles as a client of any such log does, and asks for
// the heads of many sizes; then it follows the keys from the origin's through all
// the checkpoints there ever were (CHECKPOINTS, each with a NUL behind it) and counts
// what the certificate says (chain.go).  It changes a byte here and there, and must
// find each.  Prints one line for each kind of question; exit status 1 at the first
// disagreement.
package main

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

func die(format string, a ...interface{}) {
	fmt.Printf("not ok - "+format+"\n", a...)
	os.Exit(1)
}

// tiles reads hashes as a client does: from the files, checked against the head.
type tiles struct{ dir string }

func (t tiles) Height() int { return 8 }

func (t tiles) path(tile tlog.Tile) string {
	// "tile/8/0/001": without the height, the layout of the folder
	p := strings.TrimPrefix(tile.Path(), "tile/8/")
	return filepath.Join(t.dir, "tile", p)
}

func (t tiles) ReadTiles(want []tlog.Tile) ([][]byte, error) {
	var all [][]byte
	for _, tile := range want {
		data, err := os.ReadFile(t.path(tile))
		if err != nil {
			return nil, err
		}
		all = append(all, data)
	}
	return all, nil
}

func (t tiles) SaveTiles([]tlog.Tile, [][]byte) {}

// entries are the records, in their order.
func entries(dir string, size int64) [][]byte {
	var all [][]byte
	for n := int64(0); int64(len(all)) < size; n++ {
		tile := tlog.Tile{H: 8, L: 0, N: n, W: 256}
		if size-n*256 < 256 {
			tile.W = int(size - n*256)
		}
		name := strings.TrimPrefix(tile.Path(), "tile/8/0/")
		data, err := os.ReadFile(filepath.Join(dir, "tile", "entries", name))
		if err != nil {
			die("%v", err)
		}
		for len(data) > 0 {
			w := int(data[0])<<8 | int(data[1])
			all = append(all, data[2:2+w])
			data = data[2+w:]
		}
	}
	return all
}

func verifier(vkey string) note.Verifier {
	v, err := note.NewVerifier(vkey)
	if err != nil {
		die("vkey %s: %v", vkey, err)
	}
	return v
}

func tree(text string) tlog.Tree {
	line := strings.Split(text, "\n")
	n, err := strconv.ParseInt(line[1], 10, 64)
	if err != nil {
		die("%v", err)
	}
	hash, err := tlog.ParseHash(line[2])
	if err != nil {
		die("%v", err)
	}
	return tlog.Tree{N: n, Hash: hash}
}

func checkpoint(data []byte, keys ...string) tlog.Tree {
	var known []note.Verifier
	for _, k := range keys {
		known = append(known, verifier(k))
	}
	n, err := note.Open(data, note.VerifierList(known...))
	if err != nil {
		die("checkpoint: %v", err)
	}
	if len(n.Sigs) != len(keys) {
		die("%d of %d signatures", len(n.Sigs), len(keys))
	}
	bad := bytes.Replace(data, []byte("\n"), []byte("\n1"), 1)
	if _, err := note.Open(bad, note.VerifierList(known...)); err == nil {
		die("a changed checkpoint is taken")
	}
	return tree(n.Text)
}

// store is the tree made again from the records.
func store(records [][]byte) tlog.HashReaderFunc {
	var stored []tlog.Hash
	read := tlog.HashReaderFunc(func(index []int64) ([]tlog.Hash, error) {
		var out []tlog.Hash
		for _, i := range index {
			if i >= int64(len(stored)) {
				return nil, fmt.Errorf("no hash %d", i)
			}
			out = append(out, stored[i])
		}
		return out, nil
	})
	for i, r := range records {
		hashes, err := tlog.StoredHashes(int64(i), r, read)
		if err != nil {
			die("%v", err)
		}
		stored = append(stored, hashes...)
	}
	return read
}

func sizes(n int64) []int64 {
	var out []int64
	for _, s := range []int64{1, 2, 3, 4, 5, 7, 8, 255, 256, 257, 511, 512, 513, 1000, 65535, 65536, 65537,
		70000, 100000, n - 1, n} {
		if s >= 1 && s <= n {
			out = append(out, s)
		}
	}
	return out
}

func inclusion(dir string, head tlog.Tree, records [][]byte) int {
	client := tlog.TileHashReader(head, tiles{dir})
	count := 0
	for _, s := range sizes(head.N) {
		for _, i := range []int64{s - 1, s / 2, 0} {
			proof, err := tlog.ProveRecord(head.N, i, client)
			if err != nil {
				die("record %d: %v", i, err)
			}
			leaf := tlog.RecordHash(records[i])
			if err := tlog.CheckRecord(proof, head.N, head.Hash, i, leaf); err != nil {
				die("record %d: %v", i, err)
			}
			leaf[3] ^= 1
			if tlog.CheckRecord(proof, head.N, head.Hash, i, leaf) == nil {
				die("record %d changed is taken", i)
			}
			count++
		}
	}
	return count
}

func consistency(dir string, head tlog.Tree, read tlog.HashReader) int {
	client := tlog.TileHashReader(head, tiles{dir})
	count := 0
	for _, s := range sizes(head.N) {
		old, err := tlog.TreeHash(s, read)
		if err != nil {
			die("%v", err)
		}
		proof, err := tlog.ProveTree(head.N, s, client)
		if err != nil {
			die("head %d: %v", s, err)
		}
		if err := tlog.CheckTree(proof, head.N, head.Hash, s, old); err != nil {
			die("head %d: %v", s, err)
		}
		old[0] ^= 1
		if tlog.CheckTree(proof, head.N, head.Hash, s, old) == nil {
			die("another head %d is taken", s)
		}
		count++
	}
	return count
}

// proofFile is a file of "kennel audit prove".
func proofFile(path string, keys ...string) {
	data, err := os.ReadFile(path)
	if err != nil {
		die("%v", err)
	}
	part := strings.SplitN(string(data), "\n\n", 2)
	line := strings.Split(part[0], "\n")
	if line[0] != "c2sp.org/tlog-proof@v1" || !strings.HasPrefix(line[1], "extra ") {
		die("%s is no proof", path)
	}
	record, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(line[1], "extra "))
	if err != nil {
		die("%v", err)
	}
	index, err := strconv.ParseInt(strings.TrimPrefix(line[2], "index "), 10, 64)
	if err != nil {
		die("%v", err)
	}
	var proof tlog.RecordProof
	for _, l := range line[3:] {
		h, err := tlog.ParseHash(l)
		if err != nil {
			die("%v", err)
		}
		proof = append(proof, h)
	}
	head := checkpoint([]byte(part[1]), keys...)
	if err := tlog.CheckRecord(proof, head.N, head.Hash, index, tlog.RecordHash(record)); err != nil {
		die("%s: %v", path, err)
	}
}

func main() {
	if len(os.Args) < 6 {
		die("usage: check DIR ORIGIN-VKEY EPOCH-VKEY CHECKPOINTS CERTIFICATE [PROOF...]")
	}
	dir, keys := os.Args[1], os.Args[2:4]
	data, err := os.ReadFile(filepath.Join(dir, "checkpoint"))
	if err != nil {
		die("%v", err)
	}
	head := checkpoint(data, keys...)
	fmt.Printf("ok - the checkpoint of %d records is signed by both keys\n", head.N)
	records := entries(dir, head.N)
	read := store(records)
	hash, err := tlog.TreeHash(head.N, read)
	if err != nil || hash != head.Hash {
		die("the records give another root")
	}
	fmt.Printf("ok - the records give its root\n")
	fmt.Printf("ok - %d inclusion proofs through the tiles\n", inclusion(dir, head, records))
	fmt.Printf("ok - %d consistency proofs through the tiles\n", consistency(dir, head, read))
	all := parse(records)
	chain(os.Args[4], keys[0], all, read)
	certificate(os.Args[5], keys[0], all, read)
	for _, path := range os.Args[6:] {
		proofFile(path, keys...)
	}
	fmt.Printf("ok - %d proofs of kennel's\n", len(os.Args)-6)
}

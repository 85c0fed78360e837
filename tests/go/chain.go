// How keys follow each other, and what a certificate says: both against the
// records that the tree was made again from.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// record is what this reader needs of one.
type record struct {
	Ts     int64
	Kind   string
	Fields struct {
		Vkey    []string
		Epoch   int
		Outcome string
		Size    int64
	}
}

func parse(records [][]byte) []record {
	all := make([]record, len(records))
	for i, r := range records {
		if err := json.Unmarshal(r, &all[i]); err != nil {
			die("record %d: %v", i, err)
		}
	}
	return all
}

// keys is the chain: whose key signs a head of so many records, and where each
// epoch ended.
type keys struct {
	vkey   []string // by epoch
	signer []int    // the epoch that signs the head of i + 1 records
	end    map[int]int64
}

func (k *keys) next(i int, r record) {
	if len(r.Fields.Vkey) != 1 || r.Fields.Epoch != len(k.vkey) {
		die("record %d: %d keys for epoch %d behind %d", i, len(r.Fields.Vkey), r.Fields.Epoch, len(k.vkey)-1)
	}
	k.end[len(k.vkey)-1] = int64(i)
	k.vkey = append(k.vkey, r.Fields.Vkey[0])
}

// follow reads the chain from the origin's key, which the reader has from
// elsewhere; everything else is in the records.
func follow(origin string, all []record) keys {
	k := keys{end: map[int]int64{}}
	for i, r := range all {
		key := r.Fields.Vkey
		if i == 0 && (r.Kind != "genesis" || len(key) != 2 || key[0] != origin || r.Fields.Epoch != 0) {
			die("the log does not begin with this origin's key")
		}
		if i == 0 {
			k.vkey = append(k.vkey, key[1])
		}
		k.signer = append(k.signer, len(k.vkey)-1)
		now := len(k.vkey) - 1
		switch r.Kind {
		case "epoch", "end":
			k.next(i, r)
		case "open":
			if r.Fields.Epoch != now || (len(key) == 2 && (key[0] != origin || key[1] != k.vkey[now])) {
				die("record %d: another epoch than %d", i, now)
			}
		case "break":
			die("record %d: a key was lost, which these logs do not do", i)
		}
	}
	return k
}

// signedBy: are both keys', and nobody's else, the signatures that are known?
func signedBy(data []byte, vkeys ...string) bool {
	var known []note.Verifier
	for _, v := range vkeys {
		known = append(known, verifier(v))
	}
	n, err := note.Open(data, note.VerifierList(known...))
	return err == nil && len(n.Sigs) == len(vkeys)
}

// chain takes every checkpoint that the log ever signed: by the origin and by the
// epoch it falls into, and by no other.  The last of an epoch covers the record
// that names the next key: so each key vouches for the one behind it.
func chain(path string, origin string, all []record, read tlog.HashReader) {
	data, err := os.ReadFile(path)
	if err != nil {
		die("%v", err)
	}
	k, shown, count := follow(origin, all), map[int64]bool{}, 0
	for _, cp := range bytes.Split(bytes.TrimSuffix(data, []byte{0}), []byte{0}) {
		head := tree(string(cp))
		if head.N > int64(len(all)) {
			continue // of what was written down about the export itself
		}
		if head.N < 1 {
			die("a checkpoint of %d records", head.N)
		}
		epoch := k.signer[head.N-1]
		checkpoint(cp, origin, k.vkey[epoch])
		for _, other := range []int{epoch - 1, epoch + 1} {
			if other >= 0 && other < len(k.vkey) && signedBy(cp, origin, k.vkey[other]) {
				die("the head of %d records is signed by epoch %d too", head.N, other)
			}
		}
		hash, err := tlog.TreeHash(head.N, read)
		if err != nil || hash != head.Hash {
			die("the checkpoint of %d records has another root", head.N)
		}
		shown[head.N] = true
		count++
	}
	for epoch, last := range k.end {
		if !shown[last+1] {
			die("no checkpoint of epoch %d covers the key of the next", epoch)
		}
	}
	fmt.Printf("ok - %d checkpoints, %d keys, each vouched for by the one before\n", count, len(k.vkey))
}

// line is the rest of the certificate's line that begins so.
func line(text, begins string) string {
	for _, l := range strings.Split(text, "\n") {
		if strings.HasPrefix(l, begins+" ") {
			return l[len(begins)+1:]
		}
	}
	die("the certificate says nothing of %q", begins)
	return ""
}

func stamp(ns int64) string {
	return time.Unix(0, ns).UTC().Format("2006-01-02T15:04:05.000000000Z")
}

// counted is what a certificate must say of these records, in its own words.
func counted(all []record) map[string]string {
	n := map[string]int{}
	unclean, last := 0, int64(0)
	for _, r := range all {
		n[r.Kind]++
		if r.Kind == "open" && r.Fields.Outcome == "unclean" {
			unclean++
		}
		if r.Kind == "cosig" && r.Fields.Size > last {
			last = r.Fields.Size
		}
	}
	return map[string]string{
		"records":      fmt.Sprintf("0 to %d of %d", len(all)-1, len(all)),
		"from":         stamp(all[0].Ts),
		"to":           stamp(all[len(all)-1].Ts),
		"epochs":       fmt.Sprint(1 + n["epoch"] + n["end"] + n["break"]),
		"recorders":    fmt.Sprintf("%d, %d without an end", n["open"]+n["genesis"], unclean),
		"cosignatures": fmt.Sprintf("%d, the last of %d records", n["cosig"], last),
		"lost events":  fmt.Sprintf("%d times", n["gap"]),
		"lost keys":    fmt.Sprintf("%d times", n["break"]),
		"clock set":    fmt.Sprintf("%d times", n["clock"]),
		"removed":      fmt.Sprintf("%d times", n["prune"]),
	}
}

// certificate is a file of "kennel audit certify": signed by the origin alone, it
// says of the records what this program counts in them.
func certificate(path, origin string, all []record, read tlog.HashReader) {
	data, err := os.ReadFile(path)
	if err != nil {
		die("%v", err)
	}
	if !signedBy(data, origin) {
		die("the certificate is not signed by the log's key")
	}
	for _, at := range []int{0, bytes.Index(data, []byte("\nroot ")) + 6, bytes.Index(data, []byte("\n\n")) - 1} {
		bad := append([]byte(nil), data...)
		bad[at] ^= 1
		if signedBy(bad, origin) {
			die("a certificate changed at byte %d is taken", at)
		}
	}
	text := string(data)
	if !strings.HasPrefix(text, "kennel integrity certificate 1\nlog "+strings.SplitN(origin, "+", 2)[0]+"\n") {
		die("it is no certificate of this log")
	}
	var size int64
	if _, err := fmt.Sscanf(line(text, "records"), "0 to %d of %d", new(int64), &size); err != nil ||
		size < 1 || size > int64(len(all)) {
		die("the certificate is about other records: %s", line(text, "records"))
	}
	hash, err := tlog.TreeHash(size, read)
	if err != nil || line(text, "root") != hash.String() {
		die("the certificate has another root")
	}
	for begins, want := range counted(all[:size]) {
		if got := line(text, begins); got != want {
			die("the certificate says %q of %s, the records %q", got, begins, want)
		}
	}
	fmt.Printf("ok - the certificate of %d records says what is in them\n", size)
}

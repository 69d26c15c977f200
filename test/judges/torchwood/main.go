// Judges proofs of a log with Torchwood: C2SP tlog-proof under a C2SP tlog-policy. Cases as JSON on stdin; on stdout what does not hold
// of each, or nothing.
package main

import (
	"encoding/json"
	"os"

	"filippo.io/torchwood"
	"golang.org/x/mod/sumdb/tlog"
)

type testCase struct {
	Policy string `json:"policy"`
	Proof  string `json:"proof"`
	// In base64.
	Entry []byte `json:"entry"`
}

func judge(c testCase) string {
	policy, err := torchwood.ParsePolicy([]byte(c.Policy))
	if err == nil {
		err = torchwood.VerifyProof(policy, tlog.RecordHash(c.Entry), []byte(c.Proof))
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

func main() {
	var cases []testCase
	if err := json.NewDecoder(os.Stdin).Decode(&cases); err != nil {
		panic(err)
	}
	verdicts := []string{}
	for _, c := range cases {
		verdicts = append(verdicts, judge(c))
	}
	if err := json.NewEncoder(os.Stdout).Encode(verdicts); err != nil {
		panic(err)
	}
}

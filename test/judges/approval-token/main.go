// Judges approval tokens with golang-jwt, as a gateway does (docs/receipts.md): cases as JSON on stdin, the verdicts on stdout.
package main

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"

	"github.com/golang-jwt/jwt/v5"
)

type key struct {
	Kid     string `json:"kid"`
	Purpose string `json:"purpose"`
	X       string `json:"x"`
}

type testCase struct {
	Token string `json:"token"`
	Iss   string `json:"iss"`
	Aud   string `json:"aud"`
	Keys  []key  `json:"keys"`
}

type claims struct {
	jwt.RegisteredClaims
	IntentSha256 string `json:"intent_sha256"`
}

func judge(c testCase) string {
	find := func(t *jwt.Token) (any, error) {
		if t.Header["typ"] != "human-approval+jwt" {
			return nil, errors.New("another type")
		}
		for _, k := range c.Keys {
			if k.Kid == t.Header["kid"] && k.Purpose == "token" {
				x, err := base64.RawURLEncoding.DecodeString(k.X)
				return ed25519.PublicKey(x), err
			}
		}
		return nil, errors.New("unknown key")
	}
	var found claims
	_, err := jwt.ParseWithClaims(c.Token, &found, find,
		jwt.WithValidMethods([]string{"EdDSA"}), jwt.WithIssuer(c.Iss), jwt.WithAudience(c.Aud),
		jwt.WithExpirationRequired(), jwt.WithIssuedAt(), jwt.WithStrictDecoding())
	if err != nil || len(found.Audience) != 1 || found.ID == "" {
		return "refused"
	}
	return found.ID + " " + found.IntentSha256
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

package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

func TestGeneratedTablesAreCurrent(t *testing.T) {
	raw, err := os.ReadFile("../ironic.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want, err := Generate(raw)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../tables_gen.go")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Fatal("tables_gen.go is not what ironic.yaml says: run go generate ./openapi")
	}
}

func TestGenerateRefusesWhatItCannotDescribe(t *testing.T) {
	const head = "openapi: 3.0.3\ninfo: {title: t, version: \"1\"}\nx-openstack: {min-ver: \"1.1\", max-ver: \"1.2\"}\n"
	cases := map[string]string{
		"no YAML":                 "\t",
		"an operation without id": head + "paths:\n  /:\n    get: {responses: {\"200\": {description: OK}}}\n",
		"a property without versions": head + "paths: {}\ncomponents: {schemas: {Node: {type: object, " +
			"properties: {uuid: {type: string}}}}}\n",
	}
	for name, raw := range cases {
		if _, err := Generate([]byte(raw)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestGenerateKeepsTheOrderOfFields(t *testing.T) {
	const raw = `openapi: 3.0.3
info: {title: t, version: "1"}
x-openstack: {min-ver: "1.1", max-ver: "1.2"}
paths: {}
components:
  schemas:
    Thing:
      type: object
      properties:
        zeta: {type: string, x-openstack: {min-ver: "1.1"}}
        alpha: {type: string, x-openstack: {min-ver: "1.2"}}
`
	src, err := Generate([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Index(string(src), "zeta") > strings.Index(string(src), "alpha") {
		t.Error("fields are not in the order of the description")
	}
}

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

func TestGenerateWritesWhatABodyMayHold(t *testing.T) {
	const raw = `openapi: 3.0.3
info: {title: t, version: "1"}
x-openstack: {min-ver: "1.1", max-ver: "1.9"}
paths:
  /:
    put:
      operationId: setThing
      x-openstack: {min-ver: "1.1", keywords: true}
      requestBody: {content: {application/json: {schema: {type: object, properties: {
        word: {type: string, x-openstack: {since: {new: "1.3"}}}, more: {type: boolean, x-openstack: {min-ver: "1.2"}}}}}}}
      responses: {"200": {description: OK}}
components:
  schemas:
    Part:
      type: object
      x-openstack: {part: true}
      properties: {anything: {type: string}}
`
	src, err := Generate([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"Keywords: true", `{Name: "more", Min: 2, Kind: "boolean"}`, `{Name: "word", Min: 1, Kind: "string", Since: map[string]Version{"new": 3}}`,
	} {
		if !strings.Contains(string(src), want) {
			t.Errorf("%s is missing in\n%s", want, src)
		}
	}
	if strings.Contains(string(src), "PartFields") {
		t.Error("a part of others is taken for a kind of object")
	}
}

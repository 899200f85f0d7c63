package v1

import (
	"encoding/json"
	"testing"
	"time"
	"unicode/utf8"

	"ferrule/metal"
	"ferrule/openapi"
)

func TestEveryFieldHasAnEncoder(t *testing.T) {
	for i, f := range openapi.NodeFields.Fields {
		if i >= len(nodeEncoders) || nodeEncoders[i] == nil {
			t.Errorf("node field %s has no encoder", f.Name)
		}
	}
	for i, f := range openapi.PortFields.Fields {
		if shown := f.List || f.Detail; shown && (i >= len(portEncoders) || portEncoders[i] == nil) {
			t.Errorf("port field %s has no encoder", f.Name)
		}
	}
}

func TestEveryWritableFieldHasAnAttribute(t *testing.T) {
	for _, f := range openapi.NodeFields.Fields {
		if _, ok := nodeAttributes[f.Name]; (f.Patch || f.Create) && !ok {
			t.Errorf("node field %s cannot be written", f.Name)
		}
	}
}

func TestNodeAtEachVersion(t *testing.T) {
	n := sampleNode()
	for v := openapi.MinVersion; v <= openapi.MaxVersion; v++ {
		e := &encoding{base: "http://h", version: v, conductor: func(*metal.Node) string { return "c" }}
		var got map[string]any
		if err := json.Unmarshal(appendNode(nil, n, detailView(openapi.NodeFields, v), e), &got); err != nil {
			t.Fatalf("%s: %v", v, err)
		}
		for _, f := range openapi.NodeFields.Fields {
			if _, shown := got[f.Name]; shown != (f.Detail && f.VisibleAt(v)) {
				t.Errorf("%s: %s shown is %v", v, f.Name, shown)
			}
		}
		want := any("available")
		if v < 2 {
			want = nil
		}
		if got["provision_state"] != want {
			t.Errorf("%s: provision_state is %v", v, got["provision_state"])
		}
	}
}

func sampleNode() *metal.Node {
	name := "n \"1\" ü"
	return &metal.Node{
		UUID: "11111111-1111-1111-1111-111111111111", Name: &name, ProvisionState: metal.Available, Driver: "redfish",
		DriverInfo: `{"redfish_address":"https://bmc","redfish_password":"secret://x"}`, Traits: []string{"CUSTOM_A"},
		CreatedAt: time.Date(2026, 1, 2, 3, 4, 5, 678000, time.UTC),
	}
}

func TestStrings(t *testing.T) {
	for _, s := range []string{"", "plain", "\"\\\n\r\t\x01\x7f", "ü€😀", "bad \xff utf", "</script>\u2028"} {
		got := appendString(nil, s)
		var back string
		if err := json.Unmarshal(got, &back); err != nil {
			t.Fatalf("%q: %v", got, err)
		}
		if utf8.ValidString(s) && back != s {
			t.Errorf("%q came back as %q", s, back)
		}
	}
}

func TestTimes(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	if got := string(appendTime(nil, at)); got != `"2026-01-02T03:04:05+00:00"` {
		t.Error(got)
	}
	if got := string(appendTime(nil, at.Add(120*time.Microsecond))); got != `"2026-01-02T03:04:05.000120+00:00"` {
		t.Error(got)
	}
}

func BenchmarkListOf1000(b *testing.B) {
	n := sampleNode()
	e := &encoding{base: "http://127.0.0.1:6385", version: openapi.MaxVersion, conductor: func(*metal.Node) string { return "c" }}
	for name, fields := range map[string]view{"list": listView(openapi.NodeFields, e.version), "detail": detailView(openapi.NodeFields, e.version)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			buf := make([]byte, 0, 4<<20)
			for b.Loop() {
				buf = buf[:0]
				for range 1000 {
					buf = appendNode(buf, n, fields, e)
				}
			}
		})
	}
}

package image_test

import (
	"bytes"
	"io"
	"net/http"
	"testing"

	"github.com/lima-vm/go-qcow2reader"
	"go.uber.org/goleak"

	"ferrule/lab/image"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestImageFollowsFromItsSeed(t *testing.T) {
	a, err := image.GPT(1)
	if err != nil {
		t.Fatal(err)
	}
	again, _ := image.GPT(1)
	other, _ := image.GPT(2)
	if !bytes.Equal(a, again) {
		t.Error("the same seed made two images")
	}
	if bytes.Equal(a, other) {
		t.Error("two seeds made the same image")
	}
}

func TestQcow2ReadsBackAsRaw(t *testing.T) {
	raw, err := image.GPT(3)
	if err != nil {
		t.Fatal(err)
	}
	img, err := qcow2reader.Open(bytes.NewReader(image.Qcow2(raw)))
	if err != nil {
		t.Fatal(err)
	}
	defer img.Close()
	got, err := io.ReadAll(io.NewSectionReader(img, 0, img.Size()))
	if err != nil || !bytes.Equal(got, raw) {
		t.Errorf("read back %d bytes of %d, equal %v, %v", len(got), len(raw), bytes.Equal(got, raw), err)
	}
}

func TestServer(t *testing.T) {
	s, err := image.Serve("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	url := s.Add("a.raw", []byte("0123456789"))
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for url, want := range map[string]int{url: 200, s.URL("kernel"): 200, s.URL("ramdisk"): 200, s.URL("none"): 404} {
		resp, err := client.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("GET %s: %d, want %d", url, resp.StatusCode, want)
		}
	}
	if n := s.Requests("a.raw"); n != 1 {
		t.Errorf("a.raw asked for %d times", n)
	}
}

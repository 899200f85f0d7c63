package media

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ferrule/metal"
	"ferrule/siteagent/iso/isotest"
	"ferrule/siteagent/refusal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// site is a shelf, the server that shows it, and a server of images.
type site struct {
	t      *testing.T
	dir    string
	images string // folder that the image server serves
	from   *httptest.Server
	served *httptest.Server
	shelf  *Shelf
	at     time.Time
	gets   int
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{t: t, dir: t.TempDir(), images: t.TempDir(), at: time.Now()}
	files := http.FileServer(http.Dir(s.images))
	s.from = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		recorder := httptest.NewRecorder()
		files.ServeHTTP(recorder, r)
		if recorder.Code == http.StatusOK {
			s.gets++
		}
		for name, values := range recorder.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(recorder.Code)
		_, _ = w.Write(recorder.Body.Bytes())
	}))
	t.Cleanup(s.from.Close)
	s.image("kernel", randomBytes(5000))
	s.image("initrd", randomBytes(70000))
	s.served = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.shelf.ServeHTTP(w, r) }))
	t.Cleanup(s.served.Close)
	s.open()
	return s
}

func (s *site) open() {
	s.t.Helper()
	shelf, err := Open(Options{
		Dir: s.dir, ImageDirs: []string{s.images}, Images: &http.Transport{DisableKeepAlives: true}, MaxImage: 1 << 20,
		Now: func() time.Time { return s.at },
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.shelf = shelf
}

func (s *site) image(name string, content []byte) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.images, name), content, 0o644); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) args() metal.PublishMediaArgs {
	return metal.PublishMediaArgs{
		Name: "boot-1.iso", KernelURL: s.from.URL + "/kernel", RamdiskURL: s.from.URL + "/initrd",
		KernelParams: []string{"nofb", "ipa-api-url={relay}", `sshkey="ssh-rsa AAAA me"`, "odd=a$b;c"},
	}
}

func (s *site) publish(args metal.PublishMediaArgs, token string) string {
	s.t.Helper()
	address, err := s.shelf.Publish(context.Background(), args, token, s.served.URL)
	if err != nil {
		s.t.Fatal(err)
	}
	return address
}

func (s *site) get(address string, header ...string) (int, []byte) {
	s.t.Helper()
	req, err := http.NewRequest(http.MethodGet, address, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := s.served.Client().Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode, data
}

// medium is what the BMC finds at an address.
func (s *site) medium(address string) isotest.Image {
	s.t.Helper()
	status, data := s.get(address)
	if status != http.StatusOK {
		s.t.Fatalf("%s: %d", address, status)
	}
	return isotest.Read(s.t, data)
}

func (s *site) original(image string) string {
	s.t.Helper()
	data, err := os.ReadFile(filepath.Join(s.images, image))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(data)
}

func randomBytes(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b)
	return b
}

func TestBootMediumHoldsKernelRamdiskAndCommandLine(t *testing.T) {
	s := newSite(t)
	token := rand.Text() + rand.Text()
	s.image("esp", randomBytes(4096))
	args := s.args()
	args.BootloaderURL = s.from.URL + "/esp"
	args.Files = map[string]string{"etc/ironic-python-agent.d/x.conf": base64.StdEncoding.EncodeToString([]byte("[DEFAULT]\n"))}
	got := s.medium(s.publish(args, token))
	for name, image := range map[string]string{"vmlinuz": "kernel", "initrd": "initrd", "boot/grub/efiboot.img": "esp"} {
		if got.Files[name] != s.original(image) {
			t.Errorf("%s differs from its image", name)
		}
	}
	if got.Files["etc/ironic-python-agent.d/x.conf"] != "[DEFAULT]\n" {
		t.Error("the added file is not there")
	}
	grub, isolinux := got.Files[grubPath], got.Files[isolinuxPath]
	plain := `nofb ipa-api-url=` + s.served.URL + ` sshkey="ssh-rsa AAAA me" `
	if !strings.Contains(grub, "linux /vmlinuz "+plain+`'odd=a$b;c' ir_pub_id=`) || !strings.Contains(grub, "ipa-agent-token="+token) || !strings.Contains(grub, "initrd /initrd") {
		t.Errorf("grub.cfg is\n%s", grub)
	}
	if !strings.Contains(isolinux, "append initrd=/initrd "+plain+"odd=a$b;c ir_pub_id=") || !strings.Contains(isolinux, "ipa-agent-token="+token) {
		t.Errorf("isolinux.cfg is\n%s", isolinux)
	}
	_, id, _ := strings.Cut(grub, "ir_pub_id=")
	id, _, _ = strings.Cut(id, " ")
	if got.Label != "VMEDIA_BOOT_ISO" || got.Publisher != id || !got.EFI {
		t.Errorf("label %q, publisher %q, EFI %v", got.Label, got.Publisher, got.EFI)
	}
}

// The address for inspection data carries what proves the token, and not itself.
func TestTheAddressForInspectionDataCarriesAProof(t *testing.T) {
	s := newSite(t)
	token := rand.Text() + rand.Text()
	args := s.args()
	args.KernelParams = []string{"ipa-inspection-callback-url={relay}/v1/continue_inspection?inspection_proof={proof}"}
	grub := s.medium(s.publish(args, token)).Files[grubPath]
	want := "ipa-inspection-callback-url=" + s.served.URL + "/v1/continue_inspection?inspection_proof=" + metal.InspectionProof(token) + " "
	if !strings.Contains(grub, want) || strings.Count(grub, token) != 1 {
		t.Errorf("grub.cfg is\n%s", grub)
	}
}

func TestNetworkDataMakeItAConfigDrive(t *testing.T) {
	s := newSite(t)
	args := s.args()
	args.Files = map[string]string{networkPath: base64.StdEncoding.EncodeToString([]byte(`{"links": []}`))}
	if got := s.medium(s.publish(args, "")); got.Files[networkPath] != `{"links": []}` || got.Label != "config-2" || got.EFI {
		t.Errorf("medium is %+v", got)
	}
	args.Label = "OWN"
	if got := s.medium(s.publish(args, "")); got.Label != "OWN" {
		t.Errorf("label %q", got.Label)
	}
}

func TestPrebuiltImageIsServedUnchanged(t *testing.T) {
	s := newSite(t)
	content := randomBytes(10000)
	s.image("own.iso", content)
	for _, from := range []string{s.from.URL + "/own.iso", "file://" + filepath.Join(s.images, "own.iso")} {
		address := s.publish(metal.PublishMediaArgs{Name: "boot-2.iso", ISOURL: from}, rand.Text())
		if _, got := s.get(address); !bytes.Equal(got, content) {
			t.Errorf("%s: %d bytes differ", from, len(got))
		}
		if status, got := s.get(address, "Range", "bytes=100-199"); status != http.StatusPartialContent || !bytes.Equal(got, content[100:200]) {
			t.Errorf("range: %d, %d bytes", status, len(got))
		}
	}
}

func TestGrantOpensOneMediumUntilItEnds(t *testing.T) {
	s := newSite(t)
	args := s.args()
	first := s.publish(args, "")
	args.Name = "boot-2.iso"
	second := s.publish(args, "")
	swapped := strings.Replace(first, "boot-1", "boot-2", 1)
	for _, address := range []string{swapped, first + "x", s.served.URL + PathPrefix, s.served.URL + PathPrefix + "x/boot-1.iso"} {
		if status, _ := s.get(address); status != http.StatusNotFound {
			t.Errorf("%s: %d", address, status)
		}
	}
	resp, err := s.served.Client().Post(first, "text/plain", strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", resp.StatusCode)
	}
	if err := s.shelf.Retract(context.Background(), "boot-1.iso"); err != nil {
		t.Fatal(err)
	}
	if err := s.shelf.Retract(context.Background(), "never-there.iso"); err != nil {
		t.Fatal(err)
	}
	if status, _ := s.get(first); status != http.StatusNotFound {
		t.Errorf("retracted: %d", status)
	}
	s.at = s.at.Add(24 * time.Hour)
	if status, _ := s.get(second); status != http.StatusNotFound {
		t.Errorf("expired: %d", status)
	}
	if err := s.shelf.Sweep(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(s.shelf.mediaDir()); err != nil || len(left) != 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

func TestMediaOutliveARestartAndAreReplacedByName(t *testing.T) {
	s := newSite(t)
	address := s.publish(s.args(), "")
	_, before := s.get(address)
	stray := filepath.Join(s.shelf.mediaDir(), "stray.iso")
	if err := os.WriteFile(stray, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.open()
	if status, after := s.get(address); status != http.StatusOK || !bytes.Equal(before, after) {
		t.Errorf("after a restart: %d", status)
	}
	if _, err := os.Stat(stray); !os.IsNotExist(err) {
		t.Errorf("stray file: %v", err)
	}
	again := s.publish(s.args(), "")
	if status, _ := s.get(again); status != http.StatusOK {
		t.Errorf("published again: %d", status)
	}
	if status, _ := s.get(address); status != http.StatusNotFound {
		t.Errorf("replaced: %d", status)
	}
}

func TestTokenIsInTheMediumOnlyAndGoesWithIt(t *testing.T) {
	s := newSite(t)
	token := rand.Text() + rand.Text()
	s.publish(s.args(), token)
	holders := s.holders(token)
	if len(holders) != 1 || filepath.Dir(holders[0]) != s.shelf.mediaDir() {
		t.Fatalf("the token is in %q", holders)
	}
	info, err := os.Stat(holders[0])
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if err := s.shelf.Retract(context.Background(), "boot-1.iso"); err != nil {
		t.Fatal(err)
	}
	if holders := s.holders(token); len(holders) != 0 {
		t.Errorf("the token is still in %q", holders)
	}
}

func (s *site) holders(secret string) []string {
	s.t.Helper()
	var found []string
	err := filepath.WalkDir(s.dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(p)
		if bytes.Contains(data, []byte(secret)) {
			found = append(found, p)
		}
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return found
}

func TestImagesAreFetchedOnceUntilTheyChange(t *testing.T) {
	s := newSite(t)
	for range 3 {
		s.publish(s.args(), "")
	}
	if s.gets != 2 {
		t.Errorf("%d downloads for two images", s.gets)
	}
	s.image("kernel", randomBytes(6000))
	later := time.Now().Add(time.Minute)
	if err := os.Chtimes(filepath.Join(s.images, "kernel"), later, later); err != nil {
		t.Fatal(err)
	}
	if s.medium(s.publish(s.args(), "")).Files["vmlinuz"] != s.original("kernel") {
		t.Error("the old kernel is in the new medium")
	}
	s.from.Close()
	s.publish(s.args(), "")
}

func TestCacheKeepsItsSize(t *testing.T) {
	s := newSite(t)
	s.publish(s.args(), "")
	old := time.Now().Add(-2 * pruneAfter)
	entries, err := os.ReadDir(s.shelf.cache.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if err := os.Chtimes(filepath.Join(s.shelf.cache.dir, e.Name()), old, old); err != nil {
			t.Fatal(err)
		}
	}
	s.shelf.cache.maxTotal = 1
	s.image("third", randomBytes(100))
	s.publish(metal.PublishMediaArgs{Name: "x.iso", ISOURL: s.from.URL + "/third"}, "")
	entries, err = os.ReadDir(s.shelf.cache.dir)
	if err != nil || len(entries) != 2 { // the image and what is known of it
		t.Errorf("%v, %v", entries, err)
	}
}

func TestBadRequestsAreRefused(t *testing.T) {
	s := newSite(t)
	outside := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(outside, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(s.images, "link")); err != nil {
		t.Fatal(err)
	}
	s.image("huge", make([]byte, 1<<20+1))
	password := rand.Text()
	for what, change := range map[string]func(*metal.PublishMediaArgs){
		"no name":           func(a *metal.PublishMediaArgs) { a.Name = "" },
		"path as name":      func(a *metal.PublishMediaArgs) { a.Name = "../x" },
		"no kernel":         func(a *metal.PublishMediaArgs) { a.KernelURL = "" },
		"no ramdisk":        func(a *metal.PublishMediaArgs) { a.RamdiskURL = "" },
		"both forms":        func(a *metal.PublishMediaArgs) { a.ISOURL = a.KernelURL },
		"missing image":     func(a *metal.PublishMediaArgs) { a.KernelURL = s.from.URL + "/none" },
		"huge image":        func(a *metal.PublishMediaArgs) { a.KernelURL = s.from.URL + "/huge" },
		"unknown scheme":    func(a *metal.PublishMediaArgs) { a.KernelURL = "ftp://x/y" },
		"no URL":            func(a *metal.PublishMediaArgs) { a.KernelURL = "http://[" },
		"file outside":      func(a *metal.PublishMediaArgs) { a.KernelURL = "file://" + outside },
		"link to outside":   func(a *metal.PublishMediaArgs) { a.KernelURL = "file://" + filepath.Join(s.images, "link") },
		"file elsewhere":    func(a *metal.PublishMediaArgs) { a.KernelURL = "file://host" + filepath.Join(s.images, "kernel") },
		"dots":              func(a *metal.PublishMediaArgs) { a.KernelURL = "file://" + s.images + "/../etc/passwd" },
		"newline in word":   func(a *metal.PublishMediaArgs) { a.KernelParams = []string{"a\nb"} },
		"empty word":        func(a *metal.PublishMediaArgs) { a.KernelParams = []string{""} },
		"endless line":      func(a *metal.PublishMediaArgs) { a.KernelParams = []string{strings.Repeat("x", 3000)} },
		"file not base64":   func(a *metal.PublishMediaArgs) { a.Files = map[string]string{"x": "%"} },
		"file over kernel":  func(a *metal.PublishMediaArgs) { a.Files = map[string]string{"vmlinuz": ""} },
		"file leaves image": func(a *metal.PublishMediaArgs) { a.Files = map[string]string{"../x": ""} },
		"password in address": func(a *metal.PublishMediaArgs) {
			a.KernelURL = strings.Replace(s.from.URL, "http://", "http://user:"+password+"@", 1) + "/none?sig=" + password
		},
	} {
		args := s.args()
		change(&args)
		_, err := s.shelf.Publish(context.Background(), args, "", s.served.URL)
		if refusal.CodeOf(err, "") != metal.CodeInvalidArgs {
			t.Errorf("%s: %v", what, err)
		}
		if err != nil && strings.Contains(err.Error(), password) {
			t.Errorf("%s: the password is in %v", what, err)
		}
	}
	args := s.args()
	args.KernelURL += "-never-fetched"
	s.from.Close()
	if _, err := s.shelf.Publish(context.Background(), args, "", s.served.URL); refusal.CodeOf(err, "") != metal.CodeUnreachable {
		t.Errorf("dead image server: %v", err)
	}
	for _, dir := range []string{s.shelf.workDir(), s.shelf.mediaDir()} {
		if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
			t.Errorf("%s holds %v, %v", dir, left, err)
		}
	}
}

func FuzzGrubWord(f *testing.F) {
	f.Add("a=b")
	f.Add(`x='$y"`)
	f.Fuzz(func(t *testing.T, word string) {
		quoted := grubWord(word)
		if quoted != word && strings.ReplaceAll(quoted[1:len(quoted)-1], `'\''`, "'") != word {
			t.Errorf("%q became %q", word, quoted)
		}
	})
}

// forbidding refuses every connection, as the guard of addresses does.
type forbidding struct{}

func (forbidding) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, refusal.New(metal.CodeForbiddenTarget, "not there")
}

func TestACopyInTheCacheDoesNotStandForAForbiddenAddress(t *testing.T) {
	s := newSite(t)
	args := metal.PublishMediaArgs{Name: "a.iso", ISOURL: s.from.URL + "/kernel"}
	if _, err := s.shelf.Publish(t.Context(), args, "", "http://relay"); err != nil {
		t.Fatal(err)
	}
	shelf, err := Open(Options{Dir: s.dir, Images: forbidding{}, Now: func() time.Time { return s.at }})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := shelf.Publish(t.Context(), args, "", "http://relay"); refusal.CodeOf(err, "") != metal.CodeForbiddenTarget {
		t.Errorf("published from the cache: %v", err)
	}
}

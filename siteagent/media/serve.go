package media

import (
	"crypto/subtle"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// writePatience is how long a reader may take for the next piece.
const writePatience = 2 * time.Minute

// ServeHTTP serves the media, each under its own key only. Whole and part
// (Range), GET and HEAD; anything else is not there.
func (s *Shelf) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key, name, ok := strings.Cut(strings.TrimPrefix(r.URL.Path, PathPrefix), "/")
	g, granted := s.granted(key, name)
	if !ok || !granted {
		http.NotFound(w, r)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "only GET and HEAD", http.StatusMethodNotAllowed)
		return
	}
	file, err := os.Open(filepath.Join(s.mediaDir(), g.File))
	if err != nil {
		http.NotFound(w, r)
		return
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		http.NotFound(w, r)
		return
	}
	control := http.NewResponseController(w)
	defer func() { _ = control.SetWriteDeadline(time.Time{}) }() // the connection may go on with other requests
	w.Header().Set("Content-Type", "application/x-iso9660-image")
	w.Header().Set("Cache-Control", "no-store")
	http.ServeContent(&patientWriter{ResponseWriter: w, control: control}, r, "", info.ModTime(), file)
}

// granted is the live grant of a key for a name.
func (s *Shelf) granted(key, name string) (grant, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, ok := s.grants[name]
	if !ok || subtle.ConstantTimeCompare([]byte(g.Key), []byte(key)) != 1 || !s.now().Before(g.ExpiresAt) {
		return grant{}, false
	}
	return g, true
}

// patientWriter ends a connection whose reader has stopped: media take long,
// so the whole answer cannot have one deadline.
type patientWriter struct {
	http.ResponseWriter
	control *http.ResponseController
}

func (p *patientWriter) Write(data []byte) (int, error) {
	// A writer without deadlines (in a test) is as good.
	_ = p.control.SetWriteDeadline(time.Now().Add(writePatience))
	return p.ResponseWriter.Write(data)
}

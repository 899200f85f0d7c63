package link

import (
	"net/http"
	"net/textproto"
	"strings"
)

// hopByHop are the headers that mean one connection only (RFC 9110, 7.6.1).
var hopByHop = []string{
	"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection",
	"Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

// EndToEnd is a copy of h without what concerns only its connection.
func EndToEnd(h http.Header) http.Header {
	kept := h.Clone()
	if kept == nil {
		kept = http.Header{}
	}
	for _, listed := range h.Values("Connection") {
		for name := range strings.SplitSeq(listed, ",") {
			kept.Del(textproto.TrimString(name))
		}
	}
	for _, name := range hopByHop {
		kept.Del(name)
	}
	return kept
}

package v1

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"ferrule/openapi"
)

// Version headers.
const (
	headerVersion  = "X-Openstack-Ironic-Api-Version"
	headerMinimum  = "X-Openstack-Ironic-Api-Minimum-Version"
	headerMaximum  = "X-Openstack-Ironic-Api-Maximum-Version"
	headerServices = "Openstack-Api-Version"
)

// negotiate is the microversion that the request asks for. The generic header
// wins over Ironic's own; no header means 1.1.
func negotiate(h http.Header) (openapi.Version, error) {
	word := requestedVersion(h)
	switch {
	case word == "":
		return openapi.MinVersion, nil
	case strings.EqualFold(word, "latest"):
		return openapi.MaxVersion, nil
	}
	parts := strings.Split(word, ".")
	if len(parts) != 2 {
		return 0, unparsableVersion()
	}
	major, err1 := strconv.Atoi(strings.TrimSpace(parts[0]))
	minor, err2 := strconv.Atoi(strings.TrimSpace(parts[1]))
	if err1 != nil || err2 != nil {
		return 0, unparsableVersion()
	}
	v := openapi.Version(minor)
	if major != 1 {
		return 0, versionFault(fmt.Sprintf("Mutually exclusive versions requested. Version %d.%d requested but not supported by this service. "+
			"The supported version range is: [%s, %s].", major, minor, openapi.MinVersion, openapi.MaxVersion))
	}
	if v < openapi.MinVersion || v > openapi.MaxVersion {
		return 0, versionFault(fmt.Sprintf("Version %d.%d was requested but the minor version is not supported by this service. "+
			"The supported version range is: [%s, %s].", major, minor, openapi.MinVersion, openapi.MaxVersion))
	}
	return v, nil
}

// requestedVersion is the word that names the version, "" where there is none.
func requestedVersion(h http.Header) string {
	for _, line := range h.Values(headerServices) {
		for _, item := range strings.Split(line, ",") {
			service, version, found := strings.Cut(strings.TrimSpace(item), " ")
			if found && strings.EqualFold(service, "baremetal") {
				return strings.TrimSpace(version)
			}
		}
	}
	return strings.TrimSpace(h.Get(headerVersion))
}

func unparsableVersion() *fault {
	return &fault{Status: http.StatusNotAcceptable, Text: "Invalid value for X-OpenStack-Ironic-API-Version header", Routed: true}
}

// versionFault keeps the headers that name the range.
func versionFault(text string) *fault {
	return &fault{Status: http.StatusNotAcceptable, Text: text, Routed: true, Ranged: true}
}

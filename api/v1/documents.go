package v1

import (
	"net/http"

	"ferrule/openapi"
)

type linkDocument struct {
	Href string `json:"href"`
	Rel  string `json:"rel"`
	Type string `json:"type,omitempty"`
}

type versionDocument struct {
	ID         string         `json:"id"`
	Links      []linkDocument `json:"links"`
	Status     string         `json:"status"`
	MinVersion string         `json:"min_version"`
	Version    string         `json:"version"`
}

func thisVersion(base string) versionDocument {
	return versionDocument{
		ID:         "v1",
		Links:      []linkDocument{{Href: base + "/v1/", Rel: "self"}},
		Status:     "CURRENT",
		MinVersion: openapi.MinVersion.String(),
		// The ramdisk reads the newest version here to choose its own.
		Version: openapi.MaxVersion.String(),
	}
}

func (s *Service) getVersions(c *call) error {
	v := thisVersion(c.base)
	return c.JSON(http.StatusOK, map[string]any{
		"name": "OpenStack Ironic API",
		"description": "Ironic is an OpenStack project which enables the " +
			"provision and management of baremetal machines.",
		"default_version": v,
		"versions":        []versionDocument{v},
	})
}

func (s *Service) getV1(c *call) error {
	doc := map[string]any{
		"id": "v1",
		"links": []linkDocument{
			{Href: c.base + "/v1/", Rel: "self"},
			{Href: "https://docs.openstack.org//ironic/latest/contributor//webapi.html", Rel: "describedby", Type: "text/html"},
		},
		"media_types": map[string]string{
			"base": "application/json",
			"type": "application/vnd.openstack.ironic.v1+json",
		},
		"version": thisVersion(c.base),
	}
	for i := range openapi.V1Fields.Fields {
		f := &openapi.V1Fields.Fields[i]
		if _, known := doc[f.Name]; known || !f.VisibleAt(c.version) {
			continue
		}
		doc[f.Name] = []linkDocument{
			{Href: c.base + "/v1/" + f.Name + "/", Rel: "self"},
			{Href: c.base + "/" + f.Name + "/", Rel: "bookmark"},
		}
	}
	return c.JSON(http.StatusOK, doc)
}

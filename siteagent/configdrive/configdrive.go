// Package configdrive turns the description of a config drive that an Ironic
// client gives into what the ramdisk writes to disk: an ISO image labelled
// config-2, compressed and in base64. It keeps everything in memory, because
// a config drive is secret as a whole.
package configdrive

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"ferrule/metal"
	"ferrule/siteagent/iso"
	"ferrule/siteagent/refusal"
)

// Label is the volume label by which an instance finds its config drive.
const Label = "config-2"

// maxImage is the largest image the ramdisk writes.
const maxImage = 64 << 20

// versions are the metadata folders that readers look for
// (openstacksdk: baremetal.configdrive.populate_directory).
var versions = []string{"2012-08-10", "latest"}

// Node names the machine that the config drive is for.
type Node struct {
	UUID string
	Name string
}

// description is the JSON form of a config drive.
type description struct {
	MetaData    map[string]json.RawMessage `json:"meta_data"`
	UserData    json.RawMessage            `json:"user_data"`
	NetworkData json.RawMessage            `json:"network_data"`
	VendorData  json.RawMessage            `json:"vendor_data"`
}

// IsDescription reports whether a config drive is given as JSON and is yet to
// be built; anything else is an image or its URL already.
func IsDescription(given []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(given, " \t\r\n"), []byte{'{'})
}

// Build makes the config drive that a description asks for: gzip of the image,
// in base64. workDir takes empty work files only. uuid and name are filled in
// where the meta data have none (Ironic: deploy_utils.build_configdrive).
func Build(ctx context.Context, given []byte, node Node, workDir string) (string, error) {
	files, err := contents(given, node)
	if err != nil {
		return "", err
	}
	var image iso.Memory
	options := iso.Options{Label: Label, Publisher: "ferrule", Joliet: true}
	if err := iso.Write(ctx, &image, workDir, files, options); err != nil {
		return "", fmt.Errorf("build config drive: %w", err)
	}
	if n := len(image.Bytes()); n > maxImage {
		return "", refusal.New(metal.CodeInvalidArgs,
			"the config drive takes %d bytes, more than the %d that can be written; shorten its user data", n, maxImage)
	}
	return pack(image.Bytes())
}

// contents is the files of the image. Errors tell the member, never its value.
func contents(given []byte, node Node) ([]iso.File, error) {
	var d description
	if err := json.Unmarshal(given, &d); err != nil {
		return nil, refusal.New(metal.CodeInvalidArgs, "the config drive is no JSON object with objects in meta_data: give it as "+
			`{"meta_data": {…}, "user_data": …, "network_data": {…}, "vendor_data": {…}}`)
	}
	if d.MetaData == nil {
		d.MetaData = map[string]json.RawMessage{}
	}
	fillIn(d.MetaData, "uuid", node.UUID)
	fillIn(d.MetaData, "name", node.Name)
	metaData, err := json.Marshal(d.MetaData)
	if err != nil {
		return nil, refusal.New(metal.CodeInvalidArgs, "the config drive's meta_data cannot be written as JSON")
	}
	members := []struct {
		name    string
		content []byte
	}{
		{"meta_data.json", metaData},
		{"user_data", text(d.UserData)},
		{"network_data.json", object(d.NetworkData)},
		{"vendor_data2.json", object(d.VendorData)},
	}
	var files []iso.File
	for _, version := range versions {
		for _, m := range members {
			if m.content != nil {
				files = append(files, iso.File{Path: "openstack/" + version + "/" + m.name, Content: m.content})
			}
		}
	}
	return files, nil
}

func fillIn(metaData map[string]json.RawMessage, key, value string) {
	if _, given := metaData[key]; given || value == "" {
		return
	}
	if raw, err := json.Marshal(value); err == nil {
		metaData[key] = raw
	}
}

// object is a member's JSON, nil where it is missing or empty.
func object(raw json.RawMessage) []byte {
	switch string(raw) {
	case "", "null", "{}", `""`, "[]":
		return nil
	default:
		return raw
	}
}

// text is user data: a string's own characters, any other value as JSON.
func text(raw json.RawMessage) []byte {
	if object(raw) == nil {
		return nil
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return []byte(s)
	}
	return raw
}

func pack(image []byte) (string, error) {
	var packed bytes.Buffer
	encoder := base64.NewEncoder(base64.StdEncoding, &packed)
	compressor := gzip.NewWriter(encoder)
	if _, err := compressor.Write(image); err != nil {
		return "", fmt.Errorf("compress config drive: %w", err)
	}
	if err := compressor.Close(); err != nil {
		return "", fmt.Errorf("compress config drive: %w", err)
	}
	if err := encoder.Close(); err != nil {
		return "", fmt.Errorf("encode config drive: %w", err)
	}
	return packed.String(), nil
}

package ramdisk

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"ferrule/lab/event"
)

const inspectionAttempts = 5

// inspect posts the inventory when the kernel line asks for it. A failure is
// noted, not fatal.
func (a *agent) inspect(ctx context.Context) {
	targets := a.urls("ipa-inspection-callback-url")
	if len(targets) == 0 && a.params["ipa-inspection-collectors"] != "" {
		for _, base := range a.api.urls {
			targets = append(targets, base+"/v1/continue_inspection")
		}
	}
	if len(targets) == 0 {
		return
	}
	collectors := "default,logs"
	if c := a.params["ipa-inspection-collectors"]; c != "" {
		collectors = c
	}
	body, err := a.inspectionData(strings.Split(collectors, ","))
	if err != nil {
		a.failed("continue_inspection", err)
		return
	}
	if err := a.post(ctx, targets, body); err != nil {
		a.failed("continue_inspection", err)
		return
	}
	a.Log.Add(event.Inspected, "node", a.nodeUUID)
}

// post tries the targets in turn, again after refusals that may pass.
func (a *agent) post(ctx context.Context, targets []string, body map[string]any) error {
	pause := a.Timing.RetryAfterError / 5
	left := inspectionAttempts
	for attempt := 0; ; attempt++ {
		err := a.postOnce(ctx, targets[attempt%len(targets)], body)
		if err == nil {
			return nil
		}
		early := time.Since(a.started) < a.Timing.EarlyFor && (passing(err) || status(err) == http.StatusNotFound)
		if !early {
			left--
			pause *= 2
		}
		if left == 0 || (!early && !passing(err)) || !sleep(ctx, pause) {
			return fmt.Errorf("posting the inventory: %w", err)
		}
	}
}

// passing says whether a refusal may be gone at the next try.
func passing(err error) bool {
	s := status(err)
	return s == 0 || s == http.StatusConflict || s >= http.StatusInternalServerError
}

func (a *agent) postOnce(ctx context.Context, target string, body map[string]any) error {
	var answer struct {
		UUID string `json:"uuid"`
		Node struct {
			UUID string `json:"uuid"`
		} `json:"node"`
	}
	if err := a.api.call(ctx, http.MethodPost, target, 0, body, &answer); err != nil {
		return err
	}
	a.nodeUUID = answer.UUID
	if a.nodeUUID == "" {
		a.nodeUUID = answer.Node.UUID
	}
	return nil
}

// inspectionData is the inventory and what each collector adds.
func (a *agent) inspectionData(collectors []string) (map[string]any, error) {
	pxe := bootInterface(a.params["BOOTIF"])
	body := map[string]any{
		"inventory": a.Hardware.inventory(pxe),
		"error":     nil,
		"root_disk": a.Hardware.disk(),
		"configuration": map[string]any{
			"collectors": collectors,
			"managers":   []any{map[string]any{"name": managerVersionName, "version": managerVersion}},
		},
	}
	if pxe != "" {
		body["boot_interface"] = pxe
	}
	for _, c := range collectors {
		switch strings.TrimSpace(c) {
		case "logs":
			logs, err := a.systemLogs()
			if err != nil {
				return nil, err
			}
			body["logs"] = logs
		case "pci-devices":
			body["pci_devices"] = []any{map[string]any{
				"vendor_id": "8086", "product_id": "1572", "class": "020000", "revision": "01",
				"bus": "0000:3b:00.0", "numa_node_id": 0,
			}}
		case "numa-topology":
			body["numa_topology"] = map[string]any{"ram": []any{}, "cpus": []any{}, "nics": []any{}}
		case "lldp":
			body["lldp_raw"] = map[string]any{}
		case "dmi":
			body["dmi"] = map[string]any{}
		case "usb-devices":
			body["usb_devices"] = []any{}
		}
	}
	return body, nil
}

// systemLogs is the agent's own story as the base64 of a tar.gz.
func (a *agent) systemLogs() (string, error) {
	events, _ := a.Log.Since(0)
	var story bytes.Buffer
	for _, e := range events {
		fmt.Fprintf(&story, "%s %s\n", e.Time.Format(time.RFC3339Nano), e)
	}
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	archive := tar.NewWriter(zipped)
	header := &tar.Header{Name: "journal", Mode: 0o600, Size: int64(story.Len()), ModTime: a.started}
	err := archive.WriteHeader(header)
	if err == nil {
		_, err = archive.Write(story.Bytes())
	}
	if err = errors.Join(err, archive.Close(), zipped.Close()); err != nil {
		return "", fmt.Errorf("packing the logs: %w", err)
	}
	return base64.StdEncoding.EncodeToString(out.Bytes()), nil
}

package disk

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"ferrule/lab/iso"
)

// ConfigDrive is what a config drive on the disk holds, by path.
type ConfigDrive map[string]string

// Check says whether the disk boots: both GPT headers hold, every partition of
// the image is as in the image, and the config drive names the node.
// needConfigDrive false lets a disk without any config drive boot.
func (d *Disk) Check(needConfigDrive bool) error {
	d.work.Lock()
	defer d.work.Unlock()
	written := d.Written()
	if written == nil {
		return errors.New("no image on the disk")
	}
	f, err := os.Open(d.path)
	if err != nil {
		return fmt.Errorf("opening the disk: %w", err)
	}
	defer f.Close()
	if len(written.Partitions) == 0 {
		return sameDigest(f, "the image", 0, written.Size, written.SHA256)
	}
	t, err := bothTables(f, d.size)
	if err != nil {
		return err
	}
	for _, p := range written.Partitions {
		if err := checkPartition(f, t, p); err != nil {
			return err
		}
	}
	return checkConfigDrive(f, t, written.NodeUUID, needConfigDrive)
}

// bothTables reads the two copies of the GPT and compares them.
func bothTables(f io.ReaderAt, size int64) (table, error) {
	primary, err := readTable(f, 1)
	if err != nil {
		return table{}, err
	}
	last := uint64(size/sector) - 1
	backup, err := readTable(f, last)
	if err != nil {
		return table{}, fmt.Errorf("backup at the end of the disk: %w", err)
	}
	if primary.other != last || backup.other != 1 {
		return table{}, errors.New("the two GPT headers do not point to each other")
	}
	if primary.guid != backup.guid || string(primary.entries) != string(backup.entries) {
		return table{}, errors.New("the two copies of the GPT differ")
	}
	return primary, nil
}

func checkPartition(f io.ReaderAt, t table, want PartitionDigest) error {
	for _, p := range t.partitions {
		if p.GUID == want.GUID {
			if p.Start != want.Start || p.Size != want.Size {
				return fmt.Errorf("partition %q was moved or resized", want.Name)
			}
			return sameDigest(f, fmt.Sprintf("partition %q", want.Name), p.Start, p.Size, want.SHA256)
		}
	}
	return fmt.Errorf("partition %q of the image is missing", want.Name)
}

func sameDigest(f io.ReaderAt, what string, start, size int64, want string) error {
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(f, start, size)); err != nil {
		return fmt.Errorf("reading %s: %w", what, err)
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != want {
		return fmt.Errorf("%s differs from the image", what)
	}
	return nil
}

func checkConfigDrive(f io.ReaderAt, t table, node string, need bool) error {
	m, err := configDriveOf(f, t)
	if err != nil {
		return err
	}
	if m == nil {
		if need {
			return errors.New("no partition labelled config-2")
		}
		return nil
	}
	content, err := m.ReadFile("openstack/latest/meta_data.json")
	if err != nil {
		return fmt.Errorf("config drive: %w", err)
	}
	var meta struct {
		UUID string `json:"uuid"`
	}
	if err := json.Unmarshal(content, &meta); err != nil {
		return fmt.Errorf("config drive: meta_data.json: %w", err)
	}
	if node == "" || meta.UUID != node {
		return fmt.Errorf("config drive: meta_data.json names %q, the image was written for node %q", meta.UUID, node)
	}
	return nil
}

// configDriveOf is the volume on the partition labelled config-2, nil where
// there is no such partition.
func configDriveOf(f io.ReaderAt, t table) (*iso.Medium, error) {
	for _, p := range t.partitions {
		if strings.EqualFold(p.Name, configDriveLabel) {
			m, err := iso.Read(io.NewSectionReader(f, p.Start, p.Size), p.Size)
			if err != nil {
				return nil, fmt.Errorf("config drive: %w", err)
			}
			return m, nil
		}
	}
	return nil, nil
}

// ConfigDrive is the content of the config drive on the disk, nil where there
// is none that can be read, or while the disk is written.
func (d *Disk) ConfigDrive() ConfigDrive {
	if !d.work.TryLock() {
		return nil
	}
	defer d.work.Unlock()
	f, err := os.Open(d.path)
	if err != nil {
		return nil
	}
	defer f.Close()
	t, err := readTable(f, 1)
	if err != nil {
		return nil
	}
	m, err := configDriveOf(f, t)
	if err != nil || m == nil {
		return nil
	}
	found := ConfigDrive{}
	for _, dir := range []string{"openstack/latest", "openstack/content", "ec2/latest"} {
		names, err := m.Files(dir)
		if err != nil {
			continue
		}
		for _, name := range names {
			if content, err := m.ReadFile(name); err == nil {
				found[path.Clean(name)] = string(content)
			}
		}
	}
	return found
}

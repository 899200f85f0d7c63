package disk

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/diskfs/go-diskfs/partition/gpt"
)

// configDriveLabel is the name by which cloud-init finds its partition.
const configDriveLabel = "config-2"

const (
	configDriveSize = 64 << 20
	alignment       = 1 << 20
)

// WriteConfigDrive puts volume on the partition labelled config-2: the image's
// own, or a new one at the end of the disk, whose backup GPT moves there. The
// partition has 64 MiB where there is room, else what is left.
func (d *Disk) WriteConfigDrive(volume []byte) error {
	d.work.Lock()
	defer d.work.Unlock()
	return d.modify(func(f *os.File) error {
		t, err := gpt.Read(f, sector, sector)
		if err != nil {
			return fmt.Errorf("adding the config drive: %w", err)
		}
		if err := t.Repair(uint64(d.size)); err != nil {
			return fmt.Errorf("adding the config drive: %w", err)
		}
		t.ProtectiveMBR = true
		part := labelled(t)
		if part == nil {
			if part, err = appendPartition(t, int64(len(volume))); err != nil {
				return err
			}
		}
		if int64(len(volume)) > part.GetSize() {
			return fmt.Errorf("the config drive of %d bytes does not fit in its partition", len(volume))
		}
		if err := t.Write(f, d.size); err != nil {
			return fmt.Errorf("adding the config drive: %w", err)
		}
		_, err = f.WriteAt(volume, int64(part.Start)*sector)
		return err
	})
}

func labelled(t *gpt.Table) *gpt.Partition {
	for _, p := range t.Partitions {
		if strings.EqualFold(p.Name, configDriveLabel) {
			return p
		}
	}
	return nil
}

// appendPartition adds the partition at the end, on whole megabytes.
func appendPartition(t *gpt.Table, want int64) (*gpt.Partition, error) {
	used, index := int64(alignment), 1
	for _, p := range t.Partitions {
		used = max(used, int64(p.End+1)*sector)
		index = max(index, p.Index+1)
	}
	end := int64(t.LastDataSector()+1) * sector / alignment * alignment
	start := max(end-configDriveSize, (used+alignment-1)/alignment*alignment)
	if start+want > end {
		return nil, errors.New("the disk has no room for the config drive")
	}
	p := &gpt.Partition{
		Index: index, Name: configDriveLabel, Type: gpt.LinuxFilesystem,
		Start: uint64(start / sector), End: uint64(end/sector) - 1, Size: uint64(end - start),
	}
	t.Partitions = append(t.Partitions, p)
	return p, nil
}

// FixBackup moves the backup GPT of a smaller image to the end of the disk, as
// partitioning tools do when they first touch it.
func (d *Disk) FixBackup() error {
	d.work.Lock()
	defer d.work.Unlock()
	return d.modify(func(f *os.File) error {
		if _, err := readTable(f, 1); errors.Is(err, errNoGPT) {
			return nil
		}
		t, err := gpt.Read(f, sector, sector)
		if err != nil {
			return fmt.Errorf("moving the backup GPT: %w", err)
		}
		if err := t.Repair(uint64(d.size)); err != nil {
			return fmt.Errorf("moving the backup GPT: %w", err)
		}
		t.ProtectiveMBR = true
		return t.Write(f, d.size)
	})
}

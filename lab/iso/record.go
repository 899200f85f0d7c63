package iso

import (
	"encoding/binary"
	"errors"
	"strings"
)

// The parts of a directory record (ECMA-119, 9.1).
const (
	recordHead = 33
	flagFolder = 1 << 1
	flagMulti  = 1 << 7
)

// maxContinuations bounds how often a record's system use area may go on
// elsewhere, since a damaged one may point back at itself.
const maxContinuations = 8

// list reads the records of a folder, without itself and its parent.
func (m *Medium) list(folder entry) ([]entry, error) {
	if !folder.folder || folder.size > maxFolder {
		return nil, errors.New("not a folder")
	}
	content, err := m.read(folder.start, folder.size)
	if err != nil {
		return nil, err
	}
	var entries []entry
	for i := 0; i < len(content); {
		n := int(content[i])
		if n == 0 { // records do not cross blocks: the rest of this one is empty
			i = (i/block + 1) * block
			continue
		}
		if i+n > len(content) {
			return nil, errDamaged
		}
		e, err := m.parse(content[i : i+n])
		if err != nil {
			return nil, err
		}
		if e.name != "" {
			entries = append(entries, e)
		}
		i += n
	}
	return entries, nil
}

// parse reads one record; a folder's entries for itself and its parent have no
// name.
func (m *Medium) parse(record []byte) (entry, error) {
	if len(record) < recordHead+1 || recordHead+int(record[32]) > len(record) {
		return entry{}, errDamaged
	}
	if record[25]&flagMulti != 0 {
		return entry{}, errors.New("the medium has a file in several extents")
	}
	e := entry{
		folder: record[25]&flagFolder != 0,
		start:  int64(binary.LittleEndian.Uint32(record[2:])) * block,
		size:   int64(binary.LittleEndian.Uint32(record[10:])),
	}
	if e.size > 0 && e.start+e.size > m.size {
		return entry{}, errDamaged
	}
	raw := string(record[recordHead : recordHead+int(record[32])])
	if raw == "\x00" || raw == "\x01" {
		return e, nil
	}
	e.name, _, _ = strings.Cut(raw, ";")
	e.name = strings.TrimSuffix(e.name, ".")
	if m.susp {
		name, err := m.rockRidgeName(systemUse(record))
		if err != nil {
			return entry{}, err
		}
		if name != "" {
			e.name = name
		}
	}
	return e, nil
}

// systemUse is what follows the name in a record.
func systemUse(record []byte) []byte {
	if len(record) <= recordHead {
		return nil
	}
	at := recordHead + int(record[32])
	at += at % 2 // the name is padded to an even place
	if at >= len(record) {
		return nil
	}
	return record[at:]
}

// rockRidgeName joins the NM entries of a system use area, "" for none.
func (m *Medium) rockRidgeName(area []byte) (string, error) {
	if len(area) >= m.skip {
		area = area[m.skip:]
	}
	var name strings.Builder
	for range maxContinuations {
		var next []byte
		for len(area) >= 4 {
			n := int(area[2])
			if n < 4 || n > len(area) {
				break
			}
			use := area[:n]
			area = area[n:]
			switch string(use[:2]) {
			case "NM":
				if n > 5 {
					name.Write(use[5:])
				}
			case "CE":
				var err error
				if next, err = m.continuation(use); err != nil {
					return "", err
				}
			}
		}
		if next == nil {
			return name.String(), nil
		}
		area = next
	}
	return "", errDamaged
}

// continuation is where a CE entry says that the area goes on.
func (m *Medium) continuation(use []byte) ([]byte, error) {
	if len(use) < 28 {
		return nil, errDamaged
	}
	at := int64(binary.LittleEndian.Uint32(use[4:]))*block + int64(binary.LittleEndian.Uint32(use[12:]))
	n := int64(binary.LittleEndian.Uint32(use[20:]))
	if n > block {
		return nil, errDamaged
	}
	return m.read(at, n)
}

package redfish

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"ferrule/drivers/driver"
	"ferrule/metal"
)

// mediaTypes are Ironic's device names and Redfish's media types.
var mediaTypes = map[string][]string{
	"cdrom":  {"CD", "DVD"},
	"floppy": {"Floppy"},
	"disk":   {"USBStick"},
}

// MediaStatus lists the virtual-media slots.
func (d *Driver) MediaStatus(ctx context.Context, t driver.Target) (metal.MediaStatus, error) {
	return call(ctx, d, t, func(c *client) (metal.MediaStatus, error) {
		slots, err := c.mediaSlots()
		return mediaStatus(slots), err
	})
}

// InsertMedia puts an image into the first slot of the device's kind, ejecting
// what any of them holds.
func (d *Driver) InsertMedia(ctx context.Context, t driver.Target, a metal.InsertMediaArgs) (metal.MediaStatus, error) {
	types, ok := mediaTypes[a.Device]
	if !ok {
		return metal.MediaStatus{}, driver.Errorf(metal.CodeInvalidArgs, "virtual media device %q is none of cdrom, floppy, disk", a.Device)
	}
	image, err := url.Parse(a.ImageURL)
	if err != nil || image.Host == "" || image.User != nil {
		return metal.MediaStatus{}, driver.Errorf(metal.CodeInvalidArgs, "imageUrl is no URL of an image, or has credentials in it")
	}
	return call(ctx, d, t, func(c *client) (metal.MediaStatus, error) {
		slots, err := c.slotsFor(types)
		if err != nil {
			return metal.MediaStatus{}, err
		}
		if len(slots) == 0 {
			return metal.MediaStatus{}, driver.Errorf(metal.CodeUnsupported, "BMC %s has no virtual media of the kind %s", c.access.address, strings.Join(types, ", "))
		}
		for _, slot := range slots {
			if err := c.eject(slot); err != nil {
				return metal.MediaStatus{}, err
			}
		}
		kept, err := c.insert(slots[0], a.ImageURL)
		return mediaStatus([]document{kept}), err
	})
}

// EjectMedia empties the slots of the devices' kinds; an empty slot, or none,
// is no error.
func (d *Driver) EjectMedia(ctx context.Context, t driver.Target, a metal.EjectMediaArgs) (metal.MediaStatus, error) {
	var types []string
	for _, name := range a.Devices {
		more, ok := mediaTypes[name]
		if !ok {
			return metal.MediaStatus{}, driver.Errorf(metal.CodeInvalidArgs, "virtual media device %q is none of cdrom, floppy, disk", name)
		}
		types = append(types, more...)
	}
	return call(ctx, d, t, func(c *client) (metal.MediaStatus, error) {
		slots, err := c.slotsFor(types)
		if err != nil {
			return metal.MediaStatus{}, err
		}
		for _, slot := range slots {
			if err := c.eject(slot); err != nil {
				return metal.MediaStatus{}, err
			}
		}
		if slots, err = c.slotsFor(types); err != nil {
			return metal.MediaStatus{}, err
		}
		return mediaStatus(slots), nil
	})
}

func mediaStatus(slots []document) metal.MediaStatus {
	status := metal.MediaStatus{Devices: []metal.MediaDevice{}}
	for _, s := range slots {
		status.Devices = append(status.Devices, metal.MediaDevice{
			ID: s.text("Id"), MediaTypes: append([]string{}, s.texts("MediaTypes")...), Inserted: inserted(s), Image: s.text("Image"),
		})
	}
	return status
}

// inserted is what the slot says, or that it has an image where it says nothing.
func inserted(slot document) bool {
	if in, ok := slot.flag("Inserted"); ok {
		return in
	}
	return slot.text("Image") != ""
}

// slotsFor are the slots of the given media types; no types means all.
func (c *client) slotsFor(types []string) ([]document, error) {
	slots, err := c.mediaSlots()
	if err != nil || len(types) == 0 {
		return slots, err
	}
	return slices.DeleteFunc(slots, func(s document) bool {
		return !slices.ContainsFunc(s.texts("MediaTypes"), func(m string) bool { return slices.Contains(types, m) })
	}), nil
}

// mediaSlots reads every slot: the System's, or where it has none those of its
// managers. Which it was is remembered.
func (c *client) mediaSlots() ([]document, error) {
	if c.findings.mediaSlots != "" {
		return c.members(c.findings.mediaSlots)
	}
	system, err := c.system()
	if err != nil {
		return nil, err
	}
	collections := []string{system.link("VirtualMedia")}
	managers, err := c.readAll(c.managers(system))
	if err != nil {
		return nil, err
	}
	for _, m := range managers {
		collections = append(collections, m.link("VirtualMedia"))
	}
	for _, path := range collections {
		if path == "" {
			continue
		}
		slots, err := c.optional(c.members(path))
		if err != nil {
			return nil, err
		}
		if len(slots) > 0 {
			c.findings.mediaSlots = path
			return slots, nil
		}
	}
	return nil, nil
}

func (c *client) insert(slot document, image string) (document, error) {
	target, _ := action(slot, "VirtualMedia.InsertMedia")
	if target == "" {
		if err := c.patch(slot, map[string]any{"Image": image, "Inserted": true}); err != nil {
			return document{}, err
		}
		return c.awaitMedia(slot.path, true)
	}
	path, err := c.localPath(target)
	if err != nil {
		return document{}, err
	}
	payload := map[string]any{"Image": image}
	for _, name := range c.findings.mediaExtras {
		payload[name] = mediaExtras(image)[name]
	}
	for {
		err := c.post(path, payload)
		var r *refusal
		if err == nil {
			return c.awaitMedia(slot.path, true)
		}
		if !errors.As(err, &r) || r.status >= http.StatusInternalServerError && !r.is("GeneralError") || !c.addExtra(r, payload, image) {
			return document{}, err
		}
	}
}

// mediaExtras are what some BMCs want beside the image.
func mediaExtras(image string) map[string]any {
	scheme, _, _ := strings.Cut(image, ":")
	return map[string]any{
		"Inserted": true, "WriteProtected": true, "TransferMethod": "Stream", "TransferProtocolType": strings.ToUpper(scheme),
	}
}

// addExtra puts into the payload a parameter that the BMC misses, and
// remembers it; false where it names none that can be given.
func (c *client) addExtra(r *refusal, payload map[string]any, image string) bool {
	added := false
	for name, value := range mediaExtras(image) {
		if _, there := payload[name]; !there && r.wantsProperty(name) {
			payload[name] = value
			c.findings.mediaExtras = append(c.findings.mediaExtras, name)
			added = true
		}
	}
	return added
}

// awaitMedia reads the slot until it shows what was asked for.
func (c *client) awaitMedia(path string, want bool) (document, error) {
	var slot document
	err := c.poll(c.transport.pace.settle, func() (bool, error) {
		var err error
		slot, err = c.get(path)
		return err == nil && inserted(slot) == want, err
	})
	if errors.Is(err, errPending) {
		done := "ejecting"
		if want {
			done = "inserting"
		}
		err = driver.Errorf(metal.CodeBMCError, "BMC %s accepted %s the medium of %s and still shows Inserted %t, Image %.200q", c.access.address, done, path, inserted(slot), slot.text("Image"))
	}
	return slot, err
}

// eject empties a slot; "nothing inserted" is success, whatever the status.
func (c *client) eject(slot document) error {
	if !inserted(slot) {
		return nil
	}
	err := c.sendEject(slot)
	var r *refusal
	if err != nil && !errors.As(err, &r) {
		return err
	}
	if err != nil {
		now, readErr := c.get(slot.path)
		if readErr == nil && !inserted(now) {
			return nil
		}
		return err
	}
	_, err = c.awaitMedia(slot.path, false)
	return err
}

func (c *client) sendEject(slot document) error {
	target, _ := action(slot, "VirtualMedia.EjectMedia")
	if target == "" {
		return c.patch(slot, map[string]any{"Image": nil, "Inserted": false})
	}
	path, err := c.localPath(target)
	if err != nil {
		return err
	}
	return c.post(path, map[string]any{})
}

package v1

import (
	"net/http"
	"slices"
	"strings"

	"ferrule/metal"
)

// mediaSchemes are the sorts of image address that a BMC takes.
var mediaSchemes = []string{"http", "https", "nfs", "cifs", "smb"}

func (s *Service) getMedia(c *call) error {
	n, err := s.servedNode(c, http.StatusBadRequest)
	if err != nil {
		return err
	}
	if err := s.manageable(n); err != nil {
		return err
	}
	if err := s.machine(n).Manages(metal.VirtualMediaStatus); err != nil {
		return err
	}
	var status metal.MediaStatus
	if err := s.ask(c.Request().Context(), n, metal.VirtualMediaStatus, nil, &status); err != nil {
		return err
	}
	list := make([]map[string]any, 0, len(status.Devices))
	for _, d := range status.Devices {
		list = append(list, map[string]any{"media_types": d.MediaTypes, "inserted": d.Inserted, "image": emptyAsNull(d.Image)})
	}
	return c.JSON(http.StatusOK, list)
}

// attachMedia answers before the BMC has the image: its outcome is in
// last_error.
func (s *Service) attachMedia(c *call) error {
	args, err := readAttachMedia(c.raw)
	if err != nil {
		return err
	}
	n, err := s.servedNode(c, http.StatusBadRequest)
	if err != nil {
		return err
	}
	return s.changeMedia(c, n, metal.ActionAttachMedia, args)
}

func readAttachMedia(raw []byte) (metal.AttachMediaArgs, error) {
	args := metal.AttachMediaArgs{DownloadSource: "local"}
	m, err := decodeObject(raw)
	if err != nil {
		return args, err
	}
	texts := map[string]*string{"device_type": &args.Device, "image_url": &args.ImageURL, "image_download_source": &args.DownloadSource}
	if err := onlyKnown(m, func(name string) bool { return texts[name] != nil }); err != nil {
		return args, schemaOf("vmedia", err)
	}
	for key, v := range m {
		text, isText := v.(string)
		if !isText {
			return args, schemaOf("vmedia", wrongType(v, "string"))
		}
		*texts[key] = text
	}
	for _, name := range []string{"device_type", "image_url"} {
		if _, ok := m[name]; !ok {
			return args, schemaOf("vmedia", missing(name))
		}
	}
	if devices := metal.MediaDevices(); !slices.Contains(devices, args.Device) {
		return args, schemaOf("vmedia", notOneOf(args.Device, devices))
	}
	if sources := []string{"http", "local", "swift"}; !slices.Contains(sources, args.DownloadSource) {
		return args, schemaOf("vmedia", notOneOf(args.DownloadSource, sources))
	}
	scheme, _, found := strings.Cut(args.ImageURL, ":")
	if !found || !slices.Contains(mediaSchemes, strings.ToLower(scheme)) {
		return args, badRequest("Unsupported or missing URL scheme in image_url; it is one of %s", strings.Join(mediaSchemes, ", "))
	}
	return args, nil
}

func (s *Service) detachMedia(c *call) error {
	var devices []string
	if list, given := c.query.list("device_types"); given {
		devices = list
	}
	for _, d := range devices {
		if !slices.Contains(metal.MediaDevices(), d) {
			return badRequest("Invalid device type(s) %s (valid are %s)", d, strings.Join(metal.MediaDevices(), ", "))
		}
	}
	n, err := s.servedNode(c, http.StatusBadRequest)
	if err != nil {
		return err
	}
	return s.changeMedia(c, n, metal.ActionDetachMedia, metal.EjectMediaArgs{Devices: devices})
}

// changeMedia promises the change: a management interface that has no virtual
// media says so in last_error, as in Ironic.
func (s *Service) changeMedia(c *call, n *metal.Node, action metal.Action, args any) error {
	err := s.act(c, n, action, args, func(n *metal.Node) error {
		if err := s.manageable(n); err != nil {
			return err
		}
		if n.Maintenance && n.Fault != nil && *n.Fault == metal.FaultPower {
			return faultf(http.StatusServiceUnavailable,
				"The virtual media of node %s cannot be changed: its BMC does not answer (%s).", n.UUID, *n.Fault)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return c.empty(http.StatusNoContent)
}

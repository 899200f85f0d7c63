package redfish

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"time"

	"ferrule/lab/event"
	"ferrule/lab/machine"
)

const (
	cdID          = "Cd"
	maxMediaBytes = 2 << 30
	mediaTimeout  = 5 * time.Minute
)

// mediaClient fetches images as BMCs do: any certificate will do.
func mediaClient() *http.Client {
	return &http.Client{
		Timeout: mediaTimeout,
		Transport: &http.Transport{
			TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // as BMCs come
			DisableKeepAlives: true,
		},
	}
}

func listMedia(b *BMC, r request) reply {
	if b.target(r) == nil {
		return notFound(r.URL.Path)
	}
	return ok(collection(r.URL.Path, "VirtualMediaCollection", []string{r.URL.Path + "/" + cdID}))
}

// drive is the system whose virtual CD a request names.
func (b *BMC) drive(r request) *System {
	if r.PathValue("media") != cdID {
		return nil
	}
	return b.target(r)
}

func showMedia(b *BMC, r request) reply {
	s := b.drive(r)
	if s == nil {
		return notFound(r.URL.Path)
	}
	media := s.Machine.Media()
	body := doc{
		"@odata.id": r.URL.Path, "@odata.type": "#VirtualMedia.v1_6_0.VirtualMedia", "Id": cdID, "Name": "Virtual CD",
		"MediaTypes": []string{"CD", "DVD"}, "Inserted": media.URL != "", "WriteProtected": true,
		"ConnectedVia": "NotConnected", "Image": nil, "ImageName": nil,
	}
	if media.URL != "" {
		body["Image"], body["ImageName"], body["ConnectedVia"] = media.URL, path.Base(media.URL), "URI"
	}
	if !b.cfg.Quirks.MediaByPatch {
		body["Actions"] = doc{
			"#VirtualMedia.InsertMedia": doc{"target": r.URL.Path + "/Actions/VirtualMedia.InsertMedia"},
			"#VirtualMedia.EjectMedia":  doc{"target": r.URL.Path + "/Actions/VirtualMedia.EjectMedia"},
		}
	}
	return ok(body)
}

func insertMedia(b *BMC, r request) reply {
	s := b.drive(r)
	if s == nil {
		return notFound(r.URL.Path)
	}
	for property := range r.body {
		switch property {
		case "Image":
			continue
		case "Inserted", "WriteProtected", "TransferMethod", "TransferProtocolType", "MediaTypes":
			if !b.cfg.Quirks.InsertImageOnly {
				continue
			}
		}
		return refuse(http.StatusBadRequest, "Base.1.12.ActionParameterUnknown", "The parameter %s is unknown.", property)
	}
	image, _ := r.body["Image"].(string)
	return b.insert(s, image)
}

func (b *BMC) insert(s *System, image string) reply {
	u, err := url.Parse(image)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return refuse(http.StatusBadRequest, "Base.1.12.ActionParameterValueFormatError", "Image must be an http or https URL.")
	}
	if s.Machine.Media().URL != "" {
		return refuse(http.StatusBadRequest, "Base.1.12.ResourceInUse", "Media is inserted already.")
	}
	return b.perform(func() reply {
		file, err := b.download(image)
		if err != nil {
			b.log.Add(event.MediaFailed, "error", err.Error())
			return refuse(http.StatusBadRequest, "Base.1.12.GeneralError", "The image could not be fetched: %s.", err)
		}
		s.Machine.Insert(machine.Media{URL: image, Path: file})
		return noContent()
	})
}

// download fetches a file to a copy that only the lab may read: boot media
// carry tokens. Errors leave the URL out, which may be a grant.
func (b *BMC) download(source string) (string, error) {
	if b.Faults().RefuseMedia {
		return "", errors.New("the media service is not available")
	}
	ctx, cancel := context.WithTimeout(b.ctx, mediaTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, source, nil)
	if err != nil {
		return "", errors.New("the URL is not usable")
	}
	resp, err := b.client.Do(req)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err
		}
		return "", err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("the server answered %d", resp.StatusCode)
	}
	f, err := os.CreateTemp(b.cfg.MediaDir, "media-*.iso")
	if err != nil {
		return "", errors.New("no room for the image")
	}
	n, err := io.Copy(f, io.LimitReader(resp.Body, maxMediaBytes+1))
	if err = errors.Join(err, f.Close()); err == nil && n > maxMediaBytes {
		err = errors.New("the image is too large")
	}
	if err != nil {
		b.discard(f.Name())
		return "", err
	}
	return f.Name(), nil
}

// discard removes a copy; one that is gone is as good.
func (b *BMC) discard(file string) { _ = os.Remove(file) }

func ejectMedia(b *BMC, r request) reply {
	s := b.drive(r)
	if s == nil {
		return notFound(r.URL.Path)
	}
	if b.cfg.Quirks.StrictEject {
		if r.body == nil {
			return refuse(http.StatusUnsupportedMediaType, "Base.1.12.UnsupportedMediaType", "A JSON body is required.")
		}
		if s.Machine.Media().URL == "" {
			return refuse(http.StatusBadRequest, "iLO.2.14.NoVirtualMediaConnectionAvailable", "No virtual media is inserted.")
		}
	}
	return b.perform(func() reply {
		s.Machine.Eject()
		return noContent()
	})
}

// patchMedia is how media are inserted and ejected where there are no actions.
func patchMedia(b *BMC, r request) reply {
	s := b.drive(r)
	if s == nil {
		return notFound(r.URL.Path)
	}
	if !b.cfg.Quirks.MediaByPatch {
		return refuse(http.StatusMethodNotAllowed, "Base.1.12.OperationNotAllowed", "Use the actions of the resource.")
	}
	image, isText := r.body["Image"].(string)
	inserted, given := r.body["Inserted"].(bool)
	switch {
	case isText && (inserted || !given):
		return b.insert(s, image)
	case !isText && r.body["Image"] == nil && !inserted:
		s.Machine.Eject()
		return noContent()
	}
	return refuse(http.StatusBadRequest, "Base.1.12.PropertyValueConflict", "Image and Inserted contradict each other.")
}

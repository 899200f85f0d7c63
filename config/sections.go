package config

import "time"

// Default is Ironic's [DEFAULT].
type Default struct {
	// AuthStrategy is noauth, http_basic or keystone; "none" reads as noauth.
	AuthStrategy          string `option:"auth_strategy"`
	HTTPBasicAuthUserFile string `option:"http_basic_auth_user_file"`

	// EnabledHardwareTypes is nil where the file does not name them: then all
	// that are built in are enabled. The same holds of each kind's entry in
	// EnabledInterfaces; DefaultInterfaces has an entry only for a kind whose
	// default is named.
	EnabledHardwareTypes       []string            `option:"enabled_hardware_types"`
	EnabledInterfaces          map[string][]string `option:"enabled_*_interfaces"`
	DefaultInterfaces          map[string]string   `option:"default_*_interface"`
	AutodetectDeployInterfaces []string            `option:"autodetect_deploy_interfaces"`

	Host                  string `option:"host"`
	MyIP                  string `option:"my_ip"`
	DefaultResourceClass  string `option:"default_resource_class"`
	DefaultConductorGroup string `option:"default_conductor_group"`
	DefaultPortgroupMode  string `option:"default_portgroup_mode"`
	ForceRawImages        bool   `option:"force_raw_images"`

	Debug          bool   `option:"debug"`
	LogFile        string `option:"log_file"`
	LogDir         string `option:"log_dir"`
	UseJSON        bool   `option:"use_json"`
	LogInDBMaxSize int    `option:"log_in_db_max_size"`

	GracefulShutdownTimeout       time.Duration `option:"graceful_shutdown_timeout"`
	RBACServiceRoleElevatedAccess bool          `option:"rbac_service_role_elevated_access"`
	RBACServiceProjectName        string        `option:"rbac_service_project_name"`
}

// API is Ironic's [api].
type API struct {
	HostIP         string `option:"host_ip"`
	Port           int    `option:"port"`
	UnixSocket     string `option:"unix_socket"`
	UnixSocketMode int    `option:"unix_socket_mode"`
	PublicEndpoint string `option:"public_endpoint"`
	// AllowedHosts is Ferrule's own: more names by which clients reach the API,
	// and hosts of web pages that may use it.
	AllowedHosts []string `option:"allowed_hosts"`
	EnableSSLAPI bool     `option:"enable_ssl_api"`
	CertFile     string   `option:"cert_file"`
	KeyFile      string   `option:"key_file"`

	MaxLimit int `option:"max_limit"`
	// Sizes of bodies are in KiB, as Ironic counts them.
	MaxJSONBodyDepth         int `option:"max_json_body_depth"`
	MaxJSONBodySizeKiB       int `option:"max_json_body_size"`
	MaxInspectionBodySizeKiB int `option:"max_json_body_size_inspection"`
	MaxProvisionBodySizeKiB  int `option:"max_json_body_size_provision"`

	RestrictLookup            bool          `option:"restrict_lookup"`
	EnableRamdiskEndpoints    bool          `option:"enable_ramdisk_endpoints"`
	RamdiskHeartbeatTimeout   time.Duration `option:"ramdisk_heartbeat_timeout"`
	ProjectAdminOwnNodes      bool          `option:"project_admin_can_manage_own_nodes"`
	DisallowCleanSteps        []string      `option:"disallow_clean_steps"`
	DisallowDeploySteps       []string      `option:"disallow_deploy_steps"`
	DisallowServiceSteps      []string      `option:"disallow_service_steps"`
	DisallowedEnrollBootModes []string      `option:"disallowed_enrollment_boot_modes"`
}

// Deploy is Ironic's [deploy].
type Deploy struct {
	// A step priority is nil where the step's own is to hold.
	EraseDevicesPriority         *int `option:"erase_devices_priority"`
	EraseDevicesMetadataPriority *int `option:"erase_devices_metadata_priority"`
	CreateConfigurationPriority  *int `option:"create_configuration_priority"`
	DeleteConfigurationPriority  *int `option:"delete_configuration_priority"`

	ShredRandomOverwriteIterations int  `option:"shred_random_overwrite_iterations"`
	ShredFinalOverwriteWithZeros   bool `option:"shred_final_overwrite_with_zeros"`
	ContinueIfDiskSecureEraseFails bool `option:"continue_if_disk_secure_erase_fails"`
	DiskErasureConcurrency         int  `option:"disk_erasure_concurrency"`
	EnableATASecureErase           bool `option:"enable_ata_secure_erase"`
	EnableNVMeSecureErase          bool `option:"enable_nvme_secure_erase"`
	EraseSkipReadOnly              bool `option:"erase_skip_read_only"`

	PowerOffAfterDeployFailure bool          `option:"power_off_after_deploy_failure"`
	DefaultBootMode            string        `option:"default_boot_mode"`
	FastTrack                  bool          `option:"fast_track"`
	FastTrackTimeout           time.Duration `option:"fast_track_timeout"`
}

// Agent is Ironic's [agent]: how the ramdisk's agent is talked to.
type Agent struct {
	RequireTLS              bool          `option:"require_tls"`
	APICAFile               string        `option:"api_ca_file"`
	VerifyCA                string        `option:"verify_ca"`
	AgentAPIVersion         string        `option:"agent_api_version"`
	ImageDownloadSource     string        `option:"image_download_source"`
	StreamRawImages         bool          `option:"stream_raw_images"`
	AllowMD5Checksum        bool          `option:"allow_md5_checksum"`
	MemoryConsumedByAgent   int           `option:"memory_consumed_by_agent"`
	CommandTimeout          time.Duration `option:"command_timeout"`
	MaxCommandAttempts      int           `option:"max_command_attempts"`
	DeployLogsCollect       string        `option:"deploy_logs_collect"`
	DeployLogsStorage       string        `option:"deploy_logs_storage_backend"`
	DeployLogsLocalPath     string        `option:"deploy_logs_local_path"`
	PostDeployPowerRetries  int           `option:"post_deploy_get_power_state_retries"`
	PostDeployPowerInterval time.Duration `option:"post_deploy_get_power_state_retry_interval"`

	EnableBIOSBootloaderInstall bool `option:"enable_bios_bootloader_install"`
}

// Inspector is Ironic's [inspector].
type Inspector struct {
	RequireManagedBoot bool   `option:"require_managed_boot"`
	AddPorts           string `option:"add_ports"`
	KeepPorts          string `option:"keep_ports"`
	PreCreatePorts     bool   `option:"pre_create_ports"`
	UpdatePXEEnabled   bool   `option:"update_pxe_enabled"`
	PowerOff           bool   `option:"power_off"`
	DefaultHooks       string `option:"default_hooks"`
	Hooks              string `option:"hooks"`
	ForceDHCP          bool   `option:"force_dhcp"`
	ExtraKernelParams  string `option:"extra_kernel_params"`

	CPUCapabilities map[string]string `option:"cpu_capabilities"`
}

// InspectionRules is Ironic's [inspection_rules].
type InspectionRules struct {
	MaskSecrets  string `option:"mask_secrets"`
	BuiltInRules string `option:"built_in_rules"`
}

// Inventory is Ironic's [inventory].
type Inventory struct {
	DataBackend string `option:"data_backend"`
}

// PXE is Ironic's [pxe]: network boot, and the images that boot needs.
type PXE struct {
	KernelAppendParams string `option:"kernel_append_params"`
}

// Redfish is Ironic's [redfish].
type Redfish struct {
	KernelAppendParams     string `option:"kernel_append_params"`
	AuthType               string `option:"auth_type"`
	VerifyCA               string `option:"verify_ca"`
	DefaultInspectionHooks string `option:"default_inspection_hooks"`
	InspectionHooks        string `option:"inspection_hooks"`
}

// KeystoneAuthtoken is Ironic's [keystone_authtoken]: how tokens are validated.
type KeystoneAuthtoken struct {
	AuthType                    string        `option:"auth_type"`
	AuthURL                     string        `option:"auth_url"`
	Username                    string        `option:"username"`
	UserID                      string        `option:"user_id"`
	Password                    string        `option:"password"`
	UserDomainID                string        `option:"user_domain_id"`
	UserDomainName              string        `option:"user_domain_name"`
	ProjectID                   string        `option:"project_id"`
	ProjectName                 string        `option:"project_name"`
	ProjectDomainID             string        `option:"project_domain_id"`
	ProjectDomainName           string        `option:"project_domain_name"`
	DomainID                    string        `option:"domain_id"`
	DomainName                  string        `option:"domain_name"`
	SystemScope                 string        `option:"system_scope"`
	ApplicationCredentialID     string        `option:"application_credential_id"`
	ApplicationCredentialName   string        `option:"application_credential_name"`
	ApplicationCredentialSecret string        `option:"application_credential_secret"`
	WWWAuthenticateURI          string        `option:"www_authenticate_uri"`
	CAFile                      string        `option:"cafile"`
	CertFile                    string        `option:"certfile"`
	KeyFile                     string        `option:"keyfile"`
	Insecure                    bool          `option:"insecure"`
	Interface                   string        `option:"interface"`
	RegionName                  string        `option:"region_name"`
	TokenCacheTime              time.Duration `option:"token_cache_time"`
	ServiceTokenRoles           []string      `option:"service_token_roles"`
	ServiceTokenRolesRequired   bool          `option:"service_token_roles_required"`
}

// OsloMiddleware is Ironic's [oslo_middleware].
type OsloMiddleware struct {
	EnableProxyHeadersParsing bool `option:"enable_proxy_headers_parsing"`
}

// OsloPolicy is Ironic's [oslo_policy].
type OsloPolicy struct {
	PolicyFile        string   `option:"policy_file"`
	PolicyDirs        []string `option:"policy_dirs"`
	PolicyDefaultRule string   `option:"policy_default_rule"`
	EnforceNewDefault bool     `option:"enforce_new_defaults"`
}

// Healthcheck is Ironic's [healthcheck].
type Healthcheck struct {
	Enabled bool `option:"enabled"`
}

// Database is Ironic's [database]; see [Config.StoreConnection].
type Database struct {
	Connection string `option:"connection"`
}

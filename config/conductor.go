package config

import "time"

// Conductor is Ironic's [conductor]. Where Ironic lets a timeout or interval of
// 0 turn the thing off, so does Ferrule.
type Conductor struct {
	AutomatedClean                        bool              `option:"automated_clean"`
	AutomatedCleaningStepSource           string            `option:"automated_cleaning_step_source"`
	AutomatedCleaningRunbook              string            `option:"automated_cleaning_runbook"`
	AutomatedCleaningRunbookByClass       map[string]string `option:"automated_cleaning_runbook_by_resource_class"`
	AutomatedCleaningRunbookFromNode      bool              `option:"automated_cleaning_runbook_from_node"`
	AutomatedCleaningRunbookValidateTrait bool              `option:"automated_cleaning_runbook_validate_traits"`

	DeployCallbackTimeout  time.Duration `option:"deploy_callback_timeout"`
	CleanCallbackTimeout   time.Duration `option:"clean_callback_timeout"`
	InspectWaitTimeout     time.Duration `option:"inspect_wait_timeout"`
	RescueCallbackTimeout  time.Duration `option:"rescue_callback_timeout"`
	ServiceCallbackTimeout time.Duration `option:"service_callback_timeout"`

	MaxWaitStep time.Duration `option:"max_conductor_wait_step_seconds"`

	ForcePowerStateDuringSync    bool          `option:"force_power_state_during_sync"`
	SyncPowerStateInterval       time.Duration `option:"sync_power_state_interval"`
	PowerStateSyncMaxRetries     int           `option:"power_state_sync_max_retries"`
	EnableHealthMonitoring       bool          `option:"enable_health_monitoring"`
	PowerStateChangeTimeout      time.Duration `option:"power_state_change_timeout"`
	SoftPowerOffTimeout          time.Duration `option:"soft_power_off_timeout"`
	PowerFailureRecoveryInterval time.Duration `option:"power_failure_recovery_interval"`
	PoweroffInCleanfail          bool          `option:"poweroff_in_cleanfail"`
	PoweroffInServicefail        bool          `option:"poweroff_in_servicefail"`

	AllowProvisioningInMaintenance bool     `option:"allow_provisioning_in_maintenance"`
	AllowDeletingAvailableNodes    bool     `option:"allow_deleting_available_nodes"`
	DisallowedDeploymentBootModes  []string `option:"disallowed_deployment_boot_modes"`
	AutomaticLesseeSource          string   `option:"automatic_lessee_source"`
	DisableKernelParameterParsing  bool     `option:"disable_kernel_parameter_parsing"`
	ErrorOnRamdiskInconsistency    bool     `option:"error_on_ramdisk_config_inconsistency"`

	HeartbeatInterval              time.Duration `option:"heartbeat_interval"`
	HeartbeatTimeout               time.Duration `option:"heartbeat_timeout"`
	ConductorGroup                 string        `option:"conductor_group"`
	GracefulShutdownTimeout        time.Duration `option:"graceful_shutdown_timeout"`
	WorkersPoolSize                int           `option:"workers_pool_size"`
	MaxConcurrentDeploy            int           `option:"max_concurrent_deploy"`
	MaxConcurrentClean             int           `option:"max_concurrent_clean"`
	MaxConcurrentPerConductorGroup bool          `option:"max_concurrent_per_conductor_group"`

	DeployKernel          string            `option:"deploy_kernel"`
	DeployKernelByArch    map[string]string `option:"deploy_kernel_by_arch"`
	DeployRamdisk         string            `option:"deploy_ramdisk"`
	DeployRamdiskByArch   map[string]string `option:"deploy_ramdisk_by_arch"`
	RescueKernel          string            `option:"rescue_kernel"`
	RescueKernelByArch    map[string]string `option:"rescue_kernel_by_arch"`
	RescueRamdisk         string            `option:"rescue_ramdisk"`
	RescueRamdiskByArch   map[string]string `option:"rescue_ramdisk_by_arch"`
	Bootloader            string            `option:"bootloader"`
	BootloaderByArch      map[string]string `option:"bootloader_by_arch"`
	FileURLAllowedPaths   []string          `option:"file_url_allowed_paths"`
	PermittedImageFormats []string          `option:"permitted_image_formats"`

	DisableFileChecksum            bool `option:"disable_file_checksum"`
	DisableSupportForChecksumFiles bool `option:"disable_support_for_checksum_files"`
	DisableConfigdriveCheck        bool `option:"disable_configdrive_check"`
	DisableMetadataMTUCheck        bool `option:"disable_metadata_mtu_check"`

	RequireRescuePasswordHashed bool   `option:"require_rescue_password_hashed"`
	RescuePasswordHashAlgorithm string `option:"rescue_password_hash_algorithm"`

	NodeHistory                  bool          `option:"node_history"`
	NodeHistoryMaxEntries        int           `option:"node_history_max_entries"`
	NodeHistoryMinimumDays       int           `option:"node_history_minimum_days"`
	NodeHistoryCleanupInterval   time.Duration `option:"node_history_cleanup_interval"`
	NodeHistoryCleanupBatchCount int           `option:"node_history_cleanup_batch_count"`
	RecordStepFlowsInHistory     bool          `option:"record_step_flows_in_history"`

	// Step priorities by "interface.step"; several files' and lines' add up.
	CleanStepPriorityOverride  map[string]string `option:"clean_step_priority_override"`
	VerifyStepPriorityOverride map[string]string `option:"verify_step_priority_override"`
}

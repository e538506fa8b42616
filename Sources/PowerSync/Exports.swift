@_exported public import PowerSyncAttachments
@_exported public import PowerSyncClient

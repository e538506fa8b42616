// What is in public signatures of this target, and declared below it.
@_exported public import struct PowerSyncServiceCore.ServiceError
@_exported public import struct PowerSyncServiceCore.SourceConfiguration
@_exported public import struct PowerSyncServiceCore.StorageConfiguration

// What is uploaded has the same types at both ends: apps and backends see those of one module.
@_exported public import PowerSyncUpload

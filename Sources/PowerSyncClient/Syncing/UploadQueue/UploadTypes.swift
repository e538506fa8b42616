// What is uploaded has the same types at both ends: apps and backends see those of one module. Only these reach the files of an app; what is
// sent over HTTP has names that other libraries have, too, and is for files that import `PowerSyncUpload`.
@_exported public import typealias PowerSyncUpload.JsonParam
@_exported public import enum PowerSyncUpload.JsonValue
@_exported public import enum PowerSyncUpload.UpdateType

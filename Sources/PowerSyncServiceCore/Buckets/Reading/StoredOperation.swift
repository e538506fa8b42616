package import PowerSyncProtocol

/// An operation as it is stored, in the memory of a statement's row or of a segment.
///
/// Its bytes are gone when the row is.
///
/// `@safe`: it reads no bytes; who does says `unsafe`.
@safe package struct StoredOperation {
    package var opID: Int64
    package var kind: SyncOperation.Kind
    package var checksum: Checksum
    /// The op id of what replaced this operation, or one that it stands for.
    package var targetOp: Int64?
    /// The id of the source table; empty for a `MOVE` or a `CLEAR`, as are all that follow.
    package var sourceTable = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
    /// The 16 bytes of the row's identity.
    package var sourceKey = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
    /// The name of the table on clients.
    package var table = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
    /// The row id on clients.
    package var rowID = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
    /// The row as JSON; empty for a `REMOVE`.
    package var data = unsafe UnsafeRawBufferPointer(start: nil, count: 0)

    /// Creates an operation without a row.
    package init(opID: Int64, kind: SyncOperation.Kind, checksum: Checksum, targetOp: Int64?) {
        self.opID = opID
        self.kind = kind
        self.checksum = checksum
        self.targetOp = targetOp
    }
}

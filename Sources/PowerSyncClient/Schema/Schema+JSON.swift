import PowerSyncCore
import PowerSyncProtocol

// The JSON form of a schema and its parts is the engine's, which reads it, too.

extension Schema: Encodable {
    /// Encodes `{"tables":[…],"raw_tables":[…]}`.
    ///
    /// - Throws: ``PowerSyncError/operationFailed(message:underlyingError:)`` for an index over an unknown column.
    public func encode(to encoder: any Encoder) throws {
        try JsonParam(ClientSchema(self).json).encode(to: encoder)
    }
}

extension Table: Encodable {
    /// Encodes the name, the columns, the indexes and the options.
    ///
    /// `view_name` is there only when overridden, `include_old` and `include_old_only_when_changed` only when previous
    /// values are tracked.
    ///
    /// - Throws: ``PowerSyncError/operationFailed(message:underlyingError:)`` for an index over an unknown column.
    public func encode(to encoder: any Encoder) throws {
        try JsonParam(ClientTable(self).json).encode(to: encoder)
    }
}

extension RawTable: Encodable {
    /// Encodes the name and the statements.
    ///
    /// `table_name`, `synced_columns` and the options are there only with a ``schema``.
    public func encode(to encoder: any Encoder) throws {
        try JsonParam(ClientRawTable(self).json).encode(to: encoder)
    }
}

extension PendingStatement: Encodable {
    /// Encodes `{"sql":…,"params":[…]}`.
    public func encode(to encoder: any Encoder) throws {
        try JsonParam(ClientRawTable.Statement(self).json).encode(to: encoder)
    }
}

extension PendingStatementParameter: Encodable {
    /// Encodes `"Id"`, `{"Column":"name"}` or `"Rest"`.
    public func encode(to encoder: any Encoder) throws {
        try JsonValue(ClientRawTable.Parameter(self).json).encode(to: encoder)
    }
}

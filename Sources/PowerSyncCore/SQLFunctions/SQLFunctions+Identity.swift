import PowerSyncSQLite

extension SQLFunctions {
    /// Functions about this library, this database and new rows.
    static var identityFunctions: [ScalarFunction] {
        [
            ScalarFunction(name: "powersync_rs_version", argumentCount: 0) { $0.result(SystemTables.formatLevel) },
            ScalarFunction(name: "uuid", argumentCount: 0) { $0.result(RandomUUID.make()) },
            ScalarFunction(name: "gen_random_uuid", argumentCount: 0) { $0.result(RandomUUID.make()) },
            ScalarFunction(name: "powersync_in_sync_operation", argumentCount: 0, options: .innocuous) { call in
                call.result(call.state.isPublishing ? 1 : 0)
            },
            ScalarFunction(name: "powersync_client_id", argumentCount: 0, options: .deterministic) { call in
                let id = try unsafe PreparedStatement.firstText(
                    "SELECT value FROM ps_kv WHERE key = 'client_id'",
                    on: call.state.handle
                )
                guard let id else { throw LocalDatabaseError.missingClientID }
                call.result(id)
            },
            ScalarFunction(name: "powersync_remove_duplicate_key_encoding", argumentCount: 1, options: .deterministic) {
                call in
                guard call[0].isText else {
                    throw LocalDatabaseError.invalidArgument("expected an oplog key", cause: "not a text")
                }
                if let repaired = unsafe LegacySubkeys.repaired(call[0].bytes) {
                    unsafe repaired.withUnsafeBytes { unsafe call.result($0) }
                }
            },
        ]
    }
}

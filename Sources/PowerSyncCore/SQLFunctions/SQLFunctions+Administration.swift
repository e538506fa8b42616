import GRDB
import PowerSyncSQLite

extension SQLFunctions {
    /// Functions that applications call in their own migrations and for diagnosis.
    ///
    /// They are thin covers of ``SystemTables``, ``ClientSchema`` and ``LocalData``, run on GRDB's view of the connection.
    static var administrationFunctions: [ScalarFunction] {
        [
            ScalarFunction(name: "powersync_init", argumentCount: 0) { call in
                try SystemTables.migrate(call.state.requireDatabase())
                call.result("")
            },
            // For tests only: takes the file to any internal schema version, older ones included.
            ScalarFunction(name: "powersync_test_migration", argumentCount: 1) { call in
                let version = call[0].integer
                guard (1...Int64(SystemTables.currentVersion)).contains(version) else {
                    throw LocalDatabaseError.invalidArgument("\(version) is no internal schema version")
                }
                try SystemTables.migrate(call.state.requireDatabase(), to: Int(version))
                call.result("")
            },
            ScalarFunction(name: "powersync_replace_schema", argumentCount: 1) { call in
                let db = try call.state.requireDatabase()
                let schema = try ClientSchema(json: call[0].string)
                try SystemTables.migrate(db)
                try schema.apply(to: db)
                call.result("")
            },
            ScalarFunction(name: "powersync_clear", argumentCount: 1) { call in
                let options = ClearOptions(rawValue: Int(truncatingIfNeeded: call[0].integer))
                try LocalData.clear(call.state.requireDatabase(), options)
                call.result("")
            },
            ScalarFunction(name: "powersync_trigger_resync", argumentCount: 1) { call in
                try LocalData.triggerResync(
                    call.state.requireDatabase(),
                    forgettingProgress: call[0].integer != 0
                )
                call.result("")
            },
            ScalarFunction(name: "powersync_drop_view", argumentCount: 1) { call in
                let sql = "DROP VIEW IF EXISTS \(SQLText.identifier(call[0].string))"
                if let database = call.state.database {
                    // So that GRDB forgets what it knows of the schema.
                    try database.execute(sql: sql)
                } else {
                    try unsafe PreparedStatement.firstText(sql, on: call.state.handle)
                }
            },
            ScalarFunction(name: "powersync_last_synced_at", argumentCount: 0) { call in
                let time = try unsafe PreparedStatement.firstText(
                    """
                    SELECT datetime(last_synced_at / 1000000, 'unixepoch') FROM ps_sync_state
                    WHERE priority = 2147483647
                    """,
                    on: call.state.handle
                )
                if let time {
                    call.result(time)
                }
            },
        ]
    }
}

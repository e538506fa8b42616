import GRDB
import PowerSyncSQLite

extension SQLFunctions {
    /// Functions that applications call in the migrations of their raw tables.
    static var rawTableFunctions: [ScalarFunction] {
        [
            // (json, trigger_name, write): the definition of the raw table, and INSERT, UPDATE or DELETE.
            ScalarFunction(name: "powersync_create_raw_table_crud_trigger", argumentCount: 3) { call in
                let table = try ClientRawTable(json: call[0].string)
                guard call[1].isText else {
                    throw LocalDatabaseError.invalidArgument("expected the name of a trigger", cause: "not a text")
                }
                guard let write = RawTableTrigger.Write(rawValue: call[2].string) else {
                    throw LocalDatabaseError.invalidArgument("expected INSERT, UPDATE or DELETE", cause: call[2].string)
                }
                let db = try call.state.requireDatabase()
                let trigger = try RawTableTrigger(db, name: call[1].string, write: write, of: table)
                try db.execute(sql: SQLText.withoutNUL(trigger.sql))
                let second = SQLText.identifier(trigger.nameBeforeWrite)
                try db.execute(sql: SQLText.withoutNUL("DROP TRIGGER IF EXISTS \(second)"))
                if let sql = trigger.sqlBeforeWrite { try db.execute(sql: SQLText.withoutNUL(sql)) }
            }
        ]
    }
}

import GRDB
import PowerSync

func schemaBesideGRDB() -> Schema {
    let schema = Schema(
        PowerSync.Table(
            name: "todos",
            columns: [.text("list_id"), .text("title"), .integer("done")],
            indexes: [.ascending(name: "by_list", column: "list_id")]
        )
    )
    return schema
}

typealias SyncedTable = PowerSync.Table
typealias GRDBColumn = GRDB.Column

// All of them can be told apart.
typealias NamesOfPowerSync = (
    PowerSync.Table, PowerSync.Column, PowerSync.Index, PowerSync.TableOptions, PowerSync.Schema,
    any PowerSync.Transaction
)
typealias NamesOfGRDB = (GRDB.Table<GRDB.Row>, GRDB.Column, GRDB.TableOptions)

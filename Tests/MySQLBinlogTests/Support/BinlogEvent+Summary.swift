import MySQLBinlog

extension BinlogEvent {
    /// What an event of a group says, in a line.
    var summary: String {
        switch body {
        case .formatDescription(let format): "format of \(format.serverVersion)"
        case .rotate(let file, let position): "rotate to \(file) \(position)"
        case .gtid: "gtid"
        case .mariaDBGTID(let gtid):
            "gtid"
                + (gtid.isStandalone ? " standalone" : "") + (gtid.isXAPrepare ? " prepare" : "")
                + (gtid.isXAEnd ? " end" : "") + (gtid.isAlterStart ? " alter" : "")
        case .query(let query): "\(query.schema): \(query.text)"
        case .xid: "xid"
        case .tableMap(let map): "map \(map.schema).\(map.table) \(map.columns.count)"
        case .rows(let rows): "\(rows.kind) \(rows.map?.table ?? "-")\(rows.hasCascades ? " with cascades" : "")"
        case .xaPrepare(let prepare): "prepare \(prepare.xid)\(prepare.isOnePhase ? " in one phase" : "")"
        case .heartbeat(let file, let position): "heartbeat \(file) \(position)"
        case .executed: "executed"
        case .incident(let message): "incident \(message)"
        case .stop: "stop"
        case .skipped: "\(type)"
        }
    }
}

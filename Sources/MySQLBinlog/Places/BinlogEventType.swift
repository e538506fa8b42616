/// The type of an event, as its header has it.
package struct BinlogEventType: RawRepresentable, Sendable, Hashable {
    /// The number in the header.
    package var rawValue: UInt8

    /// The type with this number.
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let query = Self(rawValue: 2)
    package static let stop = Self(rawValue: 3)
    package static let rotate = Self(rawValue: 4)
    package static let intVar = Self(rawValue: 5)
    package static let rand = Self(rawValue: 13)
    package static let userVar = Self(rawValue: 14)
    package static let formatDescription = Self(rawValue: 15)
    package static let xid = Self(rawValue: 16)
    package static let beginLoadQuery = Self(rawValue: 17)
    package static let executeLoadQuery = Self(rawValue: 18)
    package static let tableMap = Self(rawValue: 19)
    package static let writeRowsV1 = Self(rawValue: 23)
    package static let updateRowsV1 = Self(rawValue: 24)
    package static let deleteRowsV1 = Self(rawValue: 25)
    package static let incident = Self(rawValue: 26)
    package static let heartbeat = Self(rawValue: 27)
    package static let ignorable = Self(rawValue: 28)
    package static let rowsQuery = Self(rawValue: 29)
    package static let writeRows = Self(rawValue: 30)
    package static let updateRows = Self(rawValue: 31)
    package static let deleteRows = Self(rawValue: 32)
    package static let gtid = Self(rawValue: 33)
    package static let anonymousGTID = Self(rawValue: 34)
    package static let previousGTIDs = Self(rawValue: 35)
    package static let transactionContext = Self(rawValue: 36)
    package static let viewChange = Self(rawValue: 37)
    package static let xaPrepare = Self(rawValue: 38)
    package static let partialUpdateRows = Self(rawValue: 39)
    package static let transactionPayload = Self(rawValue: 40)
    package static let heartbeatV2 = Self(rawValue: 41)
    package static let taggedGTID = Self(rawValue: 42)
    package static let annotateRows = Self(rawValue: 160)
    package static let binlogCheckpoint = Self(rawValue: 161)
    package static let mariaDBGTID = Self(rawValue: 162)
    package static let gtidList = Self(rawValue: 163)
    package static let startEncryption = Self(rawValue: 164)
    package static let queryCompressed = Self(rawValue: 165)
    package static let writeRowsCompressedV1 = Self(rawValue: 166)
    package static let updateRowsCompressedV1 = Self(rawValue: 167)
    package static let deleteRowsCompressedV1 = Self(rawValue: 168)
    package static let writeRowsCompressed = Self(rawValue: 169)
    package static let updateRowsCompressed = Self(rawValue: 170)
    package static let deleteRowsCompressed = Self(rawValue: 171)
}

extension BinlogEventType: CustomStringConvertible {
    /// The server's name with the number, `TABLE_MAP (19)`, or only the number.
    package var description: String {
        guard let name = Self.names[rawValue] else { return "event of type \(rawValue)" }
        return "\(name) (\(rawValue))"
    }

    private static let names: [UInt8: String] = [
        2: "QUERY", 3: "STOP", 4: "ROTATE", 5: "INTVAR", 13: "RAND", 14: "USER_VAR", 15: "FORMAT_DESCRIPTION",
        16: "XID",
        17: "BEGIN_LOAD_QUERY", 18: "EXECUTE_LOAD_QUERY", 19: "TABLE_MAP", 23: "WRITE_ROWS_V1", 24: "UPDATE_ROWS_V1",
        25: "DELETE_ROWS_V1", 26: "INCIDENT", 27: "HEARTBEAT", 28: "IGNORABLE", 29: "ROWS_QUERY", 30: "WRITE_ROWS",
        31: "UPDATE_ROWS", 32: "DELETE_ROWS", 33: "GTID", 34: "ANONYMOUS_GTID", 35: "PREVIOUS_GTIDS",
        36: "TRANSACTION_CONTEXT", 37: "VIEW_CHANGE", 38: "XA_PREPARE", 39: "PARTIAL_UPDATE_ROWS",
        40: "TRANSACTION_PAYLOAD", 41: "HEARTBEAT_V2", 42: "GTID_TAGGED", 160: "ANNOTATE_ROWS",
        161: "BINLOG_CHECKPOINT",
        162: "GTID", 163: "GTID_LIST", 164: "START_ENCRYPTION", 165: "QUERY_COMPRESSED",
        166: "WRITE_ROWS_COMPRESSED_V1",
        167: "UPDATE_ROWS_COMPRESSED_V1", 168: "DELETE_ROWS_COMPRESSED_V1", 169: "WRITE_ROWS_COMPRESSED",
        170: "UPDATE_ROWS_COMPRESSED", 171: "DELETE_ROWS_COMPRESSED", 172: "PARTIAL_ROW_DATA",
    ]
}

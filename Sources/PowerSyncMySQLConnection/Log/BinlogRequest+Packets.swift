import NIOCore

extension BinlogRequest {
    /// What the session must know before the dump.
    ///
    /// Both names of each variable are set: newer servers take the first that they know.
    func preparation(heartbeat: Duration, isMariaDB: Bool) -> String {
        let period = heartbeat.components.seconds * 1_000_000_000 + heartbeat.components.attoseconds / 1_000_000_000
        var variables = [
            "@master_heartbeat_period = \(period)", "@source_heartbeat_period = \(period)",
            "@master_binlog_checksum = @@global.binlog_checksum", "@source_binlog_checksum = @@global.binlog_checksum",
        ]
        if let uuid {
            let text = String(uuid.filter { $0.isHexDigit || $0 == "-" })
            variables += ["@slave_uuid = '\(text)'", "@replica_uuid = '\(text)'"]
        }
        // Events of global transaction ids as they are.
        if isMariaDB { variables.append("@mariadb_slave_capability = 4") }
        return "SET " + variables.joined(separator: ", ")
    }

    /// `COM_REGISTER_REPLICA`: the number, no host, no user, no password, port 0, rank 0, source 0.
    var registration: ByteBuffer {
        var packet = ByteBuffer(bytes: [0x15])
        packet.writeInteger(serverID, endianness: .little)
        packet.writeRepeatingByte(0, count: 3 + 2 + 4 + 4)
        return packet
    }

    /// `COM_BINLOG_DUMP`: position, flags (1: do not wait; 2 on MariaDB: leave no event out), number, file.
    func dump(isMariaDB: Bool) -> ByteBuffer {
        var packet = ByteBuffer(bytes: [0x12])
        packet.writeInteger(position, endianness: .little)
        packet.writeInteger(UInt16(waits ? 0 : 1) | (isMariaDB ? 2 : 0), endianness: .little)
        packet.writeInteger(serverID, endianness: .little)
        packet.writeString(file)
        return packet
    }
}

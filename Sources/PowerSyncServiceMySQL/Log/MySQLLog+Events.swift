import MySQLBinlog
import PowerSyncMySQLConnection
import PowerSyncServiceCore

/// What events a file of the log has.
extension MySQLLog {
    /// Whether an event of a file begins or ends at a position: a server that was put back may have written others since.
    ///
    /// - Complexity: Reads the file up to the position.
    /// - Throws: `MySQLConnectionError`, `BinlogError`, or `CancellationError`.
    func hasEvent(at position: LogPosition) async throws -> Bool {
        let connection = try await connector.open()
        defer { connection.close() }
        let end = try await connection.logEnd()
        let checksum = try await connection.logChecksum()
        let file = LogFileName(base: end.file.base, number: position.file).description
        return try await connection.withBinlog(BinlogRequest(file: file, waits: false)) { packets in
            var decoder = BinlogDecoder(file: file, offset: LogPosition.startOfFile, checksum: checksum)
            while let packet = try await packets.next() {
                try decoder.append(packet)
                while let event = try decoder.next() {
                    if event.place.start == position.offset || event.place.end == position.offset { return true }
                    if event.place.start > position.offset { return false }
                }
            }
            return false
        }
    }

    /// Whether a group of a MariaDB server begins between two positions, at which no event is cut.
    ///
    /// - Complexity: Reads the log between them.
    /// - Throws: `MySQLConnectionError`, `BinlogError`, or `CancellationError`.
    func hasGroup(from start: LogPosition, to end: LogPosition) async throws -> Bool {
        // The log can be asked for from an offset of 32 bits only. A file with more ends soon.
        guard let offset = UInt32(exactly: start.offset) else { return true }
        let connection = try await connector.open()
        defer { connection.close() }
        let base = try await connection.logEnd().file.base
        let checksum = try await connection.logChecksum()
        let file = LogFileName(base: base, number: start.file).description
        return try await connection.withBinlog(BinlogRequest(file: file, position: offset, waits: false)) { packets in
            var decoder = BinlogDecoder(file: file, offset: start.offset, checksum: checksum)
            while let packet = try await packets.next() {
                try decoder.append(packet)
                while let event = try decoder.next() {
                    guard let number = LogFileName(event.place.file)?.number, number <= end.file else { return false }
                    if number == end.file, event.place.start >= end.offset { return false }
                    if event.type == .mariaDBGTID { return true }
                }
            }
            return false
        }
    }
}

import CLibPQ
import NIOCore

/// The change stream, which is a copy in both directions.
extension LibPQ {
    /// What comes on a replication connection.
    enum CopyData {
        case bytes(ByteBuffer)
        /// Nothing at the moment.
        case nothing
    }

    /// Begins to stream.
    func startCopy(_ sql: String, until deadline: ContinuousClock.Instant, _ activity: String) throws {
        try send(sql, nil, until: deadline, activity)
        guard let result = try nextResult(until: deadline, activity) else { throw failure(activity) }
        defer { PQclear(result) }
        if let error = error(of: result, activity) { throw error }
        guard PQresultStatus(result) == PGRES_COPY_BOTH else {
            throw PostgresError(.connection, "The server does not stream.", activity: activity)
        }
    }

    /// The next message that has come.
    func copyData(_ activity: String) throws -> CopyData {
        var bytes: UnsafeMutablePointer<CChar>?
        let count = PQgetCopyData(connection, &bytes, 1)
        defer { if let bytes { PQfreemem(bytes) } }
        switch count {
        case 0: return .nothing
        case 1...:
            return .bytes(ByteBuffer(bytes: UnsafeRawBufferPointer(start: bytes, count: Int(count))))
        default:
            // The stream has ended, and the result says why.
            while let result = PQgetResult(connection) {
                defer { PQclear(result) }
                if let error = error(of: result, activity) { throw error }
                if PQresultStatus(result) == PGRES_COPY_IN { break }
            }
            guard count == -1 else { throw failure(activity) }
            throw PostgresError(.connection, "The server has ended the stream.", activity: activity)
        }
    }

    /// Sends a message.
    func putCopyData(_ bytes: ByteBuffer, _ activity: String) throws {
        let result = bytes.withUnsafeReadableBytes { bytes in
            PQputCopyData(connection, bytes.bindMemory(to: CChar.self).baseAddress, CInt(bytes.count))
        }
        guard result >= 0 else { throw failure(activity) }
    }
}

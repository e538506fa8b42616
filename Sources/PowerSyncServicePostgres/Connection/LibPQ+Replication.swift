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
        guard let result = unsafe try nextResult(until: deadline, activity) else { throw failure(activity) }
        defer { unsafe PQclear(result) }
        if let error = unsafe error(of: result, activity) { throw error }
        guard unsafe PQresultStatus(result) == PGRES_COPY_BOTH else {
            throw PostgresError(.connection, "The server does not stream.", activity: activity)
        }
    }

    /// The next message that has come.
    func copyData(_ activity: String) throws -> CopyData {
        var bytes: UnsafeMutablePointer<CChar>?
        let count = unsafe PQgetCopyData(connection, &bytes, 1)
        defer { if let bytes = unsafe bytes { unsafe PQfreemem(bytes) } }
        switch count {
        case 0: return .nothing
        case 1...:
            return unsafe .bytes(ByteBuffer(bytes: UnsafeRawBufferPointer(start: bytes, count: Int(count))))
        default:
            // The stream has ended, and the result says why.
            while let result = unsafe PQgetResult(connection) {
                defer { unsafe PQclear(result) }
                if let error = unsafe error(of: result, activity) { throw error }
                if unsafe PQresultStatus(result) == PGRES_COPY_IN { break }
            }
            guard count == -1 else { throw failure(activity) }
            throw PostgresError(.connection, "The server has ended the stream.", activity: activity)
        }
    }

    /// Sends a message.
    func putCopyData(_ bytes: ByteBuffer, _ activity: String) throws {
        let result = unsafe bytes.withUnsafeReadableBytes { bytes in
            unsafe PQputCopyData(connection, bytes.bindMemory(to: CChar.self).baseAddress, CInt(bytes.count))
        }
        guard result >= 0 else { throw failure(activity) }
    }
}

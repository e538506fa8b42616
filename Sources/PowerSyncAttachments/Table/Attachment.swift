import Foundation
public import PowerSyncClient
import PowerSyncProtocol

/// A file that this device knows: one row of the attachments table.
///
/// Files are immutable. A changed picture is a new attachment with a new ``id``.
public struct Attachment: Sendable, Equatable, Identifiable {
    /// The id that the app's tables refer to, usually a UUID.
    public let id: String
    /// When the queue last changed the row, in milliseconds since 1970; the greatest number where `Int` has 32 bits.
    public var timestamp: Int { Int(clamping: changedAt) }
    /// When the queue last changed the row, in milliseconds since 1970.
    let changedAt: Int64
    /// The name of the file with its extension, usually `<id>.<extension>`; it may contain sub-directories.
    public let filename: String
    /// Where the file stands.
    public let state: AttachmentState
    /// The absolute path of the local file; `nil` when there is none.
    public let localUri: String?
    /// The MIME type.
    public let mediaType: String?
    /// The size in bytes; `nil` while it is not known.
    public let size: Int64?
    /// Whether the content has been transferred and has not been lost on this device since.
    public let hasSynced: Bool?
    /// Free text of the app, usually JSON.
    public let metaData: String?

    /// Creates an attachment.
    ///
    /// - Parameters:
    ///   - id: The id that the app's tables refer to.
    ///   - filename: The name of the file with its extension.
    ///   - state: Where the file stands.
    ///   - timestamp: When the row was last changed, in milliseconds since 1970.
    ///   - hasSynced: Whether the content has been transferred.
    ///   - localUri: The absolute path of the local file.
    ///   - mediaType: The MIME type.
    ///   - size: The size in bytes.
    ///   - metaData: Free text of the app.
    public init(
        id: String,
        filename: String,
        state: AttachmentState,
        timestamp: Int = 0,
        hasSynced: Bool? = false,
        localUri: String? = nil,
        mediaType: String? = nil,
        size: Int64? = nil,
        metaData: String? = nil
    ) {
        self.init(
            id: id,
            filename: filename,
            state: state,
            changedAt: Int64(timestamp),
            hasSynced: hasSynced,
            localUri: localUri,
            mediaType: mediaType,
            size: size,
            metaData: metaData
        )
    }

    private init(
        id: String,
        filename: String,
        state: AttachmentState,
        changedAt: Int64,
        hasSynced: Bool?,
        localUri: String?,
        mediaType: String?,
        size: Int64?,
        metaData: String?
    ) {
        self.id = id
        self.changedAt = changedAt
        self.filename = filename
        self.state = state
        self.localUri = localUri
        self.mediaType = mediaType
        self.size = size
        self.hasSynced = hasSynced
        self.metaData = metaData
    }
}

extension Attachment {
    /// Reads an attachment from a row with the columns of the attachments table, in any order.
    ///
    /// ```swift
    /// let photos = try await db.getAll(sql: "SELECT * FROM attachments", parameters: [], mapper: Attachment.fromCursor)
    /// ```
    ///
    /// Rows that others wrote are tolerated: a `timestamp` that is no number is read by SQLite's conversion, a missing
    /// `has_synced` as `false`.
    ///
    /// - Throws: ``SqlCursorError`` when `id`, `filename` or `state` is missing,
    ///   ``PowerSyncAttachmentError/generalError(_:)`` for an unknown state.
    public static func fromCursor(_ cursor: any SqlCursor) throws -> Attachment {
        Attachment(
            id: try cursor.getString(name: "id"),
            filename: try cursor.getString(name: "filename"),
            state: try AttachmentState.from(cursor.getInt(name: "state")),
            changedAt: try cursor.getInt64Optional(name: "timestamp") ?? 0,
            hasSynced: try cursor.getBooleanOptional(name: "has_synced") ?? false,
            localUri: try cursor.getStringOptional(name: "local_uri"),
            mediaType: try cursor.getStringOptional(name: "media_type"),
            size: try cursor.getInt64Optional(name: "size"),
            metaData: try cursor.getStringOptional(name: "meta_data")
        )
    }

    /// The same attachment with some fields replaced; a field that is to become `nil` is given as `.some(nil)`.
    func with(
        state: AttachmentState? = nil,
        timestamp: Int64? = nil,
        hasSynced: Bool? = nil,
        localUri: String?? = .none,
        size: Int64?? = .none
    ) -> Attachment {
        Attachment(
            id: id,
            filename: filename,
            state: state ?? self.state,
            changedAt: timestamp ?? changedAt,
            hasSynced: hasSynced ?? self.hasSynced,
            localUri: localUri ?? self.localUri,
            mediaType: mediaType,
            size: size ?? self.size,
            metaData: metaData
        )
    }
}

extension Attachment: CustomStringConvertible {
    /// The id, the state and the file, in a line; without the app's own text.
    public var description: String {
        var parts = ["attachment \(id)", "\(state)", filename]
        if let size { parts.append(size.counted("byte")) }
        if localUri == nil { parts.append("not on this device") }
        return parts.joined(separator: ", ")
    }
}

extension Date {
    /// The time as attachments tables have it; the nearest one that they can hold.
    var millisecondsSince1970: Int64 {
        Int64(saturating: timeIntervalSince1970 * 1000)
    }
}

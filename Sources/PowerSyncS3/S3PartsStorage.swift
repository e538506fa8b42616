public import Foundation
public import PowerSync

/// Multipart uploads to a bucket of an S3-compatible storage, with the storage's own keys.
///
/// A backend does with it what clients ask of `SignedPartsBackend`; servers, tools and development give it to a
/// `MultipartAttachmentTransport`:
///
/// ```swift
/// let transport = MultipartAttachmentTransport(
///     storage: S3PartsStorage(bucket: bucket, credentials: credentials, keyPrefix: "videos/"),
///     base: S3AttachmentTransport(bucket: bucket, credentials: credentials, keyPrefix: "videos/")
/// )
/// ```
///
/// The key of an object is the prefix and the attachment's file name. A part has a URL with a signature for 15 minutes, its
/// `Content-Length` not being a part of it, and its SHA-256 digest (`x-amz-checksum-sha256`), with which the storage refuses a damaged one.
/// Where the clock of this process is off, signatures carry the storage's time, in all storages of the same endpoint, as soon as one of
/// them has asked for something and was refused.
///
/// - Important: The keys give access to the whole bucket, so they are no part of an app.
public struct S3PartsStorage: AttachmentPartsStorage {
    /// What a storage answers to parts that it does not have as they are named.
    private static let refusals = ["InvalidPart", "InvalidPartOrder", "EntityTooSmall", "BadDigest", "InvalidDigest"]

    private let signer: S3Signer
    private let clock: S3Clock
    private let keyPrefix: String
    private let usesChecksums: Bool
    private let http: AttachmentHTTPClient

    /// Describes where parts go.
    ///
    /// - Parameters:
    ///   - bucket: The bucket.
    ///   - credentials: Keys that may read, write and delete in it, and list its unfinished uploads.
    ///   - keyPrefix: What keys begin with, for example `videos/`.
    ///   - usesChecksums: Whether the storage is told the SHA-256 digest of each part. Turn it off for storages that know no checksums.
    ///   - httpClient: What asks the storage.
    public init(
        bucket: S3Bucket,
        credentials: S3Credentials,
        keyPrefix: String = "",
        usesChecksums: Bool = true,
        httpClient: PowerSyncHTTPClient = .standard
    ) {
        self.init(
            bucket: bucket,
            credentials: credentials,
            keyPrefix: keyPrefix,
            usesChecksums: usesChecksums,
            httpClient: httpClient,
            clock: .shared(for: bucket.endpoint)
        )
    }

    /// Describes where parts go, with a clock.
    init(
        bucket: S3Bucket,
        credentials: S3Credentials,
        keyPrefix: String,
        usesChecksums: Bool,
        httpClient: PowerSyncHTTPClient,
        clock: S3Clock
    ) {
        self.clock = clock
        signer = S3Signer(bucket: bucket, credentials: credentials) { clock.date }
        self.keyPrefix = keyPrefix
        self.usesChecksums = usesChecksums
        http = AttachmentHTTPClient(httpClient)
    }

    /// Begins an upload.
    public func beginUpload(of attachment: Attachment) async throws -> String {
        var headers: [String: String] = [:]
        if usesChecksums { headers["x-amz-checksum-algorithm"] = "SHA256" }
        if let type = attachment.mediaType, !type.isEmpty, type.utf8.allSatisfy({ (0x20...0x7e).contains($0) }) {
            headers["Content-Type"] = type
        }
        let answer = try await send("POST", key(of: attachment), ["uploads": ""], headers: headers)
        guard answer.status == 200 else { throw answer.failure() }
        guard let id = S3Document(answer.body)["UploadId"], !id.isEmpty else {
            throw answer.failure(.unexpectedResponse)
        }
        return id
    }

    /// Signs the URL that a part goes to.
    public func request(
        for part: AttachmentPart,
        of upload: AttachmentPartsUpload
    ) async throws -> AttachmentHTTPRequest {
        var headers: [String: String] = [:]
        if usesChecksums {
            let header = AttachmentHTTPRequest.DigestHeader.amzChecksumSHA256
            headers[header.name] = header.text(of: part.sha256)
        }
        let url = try signer.presignedURL(
            method: "PUT",
            key: key(of: upload.attachment),
            headers: headers,
            query: ["partNumber": "\(part.number)", "uploadId": upload.id]
        )
        return AttachmentHTTPRequest(url: url, headers: headers)
    }

    /// The parts that the storage has.
    public func parts(of upload: AttachmentPartsUpload) async throws -> [StoredAttachmentPart] {
        var parts: [StoredAttachmentPart] = []
        var marker: String?
        repeat {
            var query = ["uploadId": upload.id]
            query["part-number-marker"] = marker
            let answer = try await send("GET", key(of: upload.attachment), query)
            switch answer.status {
            case 200: break
            case 404, 410: throw AttachmentStorageError.notFound
            default: throw answer.failure()
            }
            let page = S3Document(answer.body)
            parts += page.elements("Part").compactMap { part in
                guard
                    let number = part["PartNumber"].flatMap({ Int($0) }),
                    let size = part["Size"].flatMap({ Int64($0) }), let etag = part["ETag"]
                else { return nil }
                let digest = part["ChecksumSHA256"].flatMap { Data(base64Encoded: $0) }
                return StoredAttachmentPart(number: number, size: size, etag: etag, sha256: digest)
            }
            let next = page["IsTruncated"] == "true" ? page["NextPartNumberMarker"] : nil
            // A storage that gives the same page again would do so for ever.
            marker = next == marker ? nil : next
        } while marker != nil
        return parts
    }

    /// Makes the object of its parts.
    ///
    /// An upload that the storage does not know any more, while there is an object of the key and of the size, was completed before.
    public func complete(_ upload: AttachmentPartsUpload, parts: [StoredAttachmentPart]) async throws -> Bool {
        let elements = parts.map { part in
            let digest = usesChecksums ? part.sha256 : nil
            return
                "<Part><PartNumber>\(part.number)</PartNumber><ETag>&quot;\(S3Document.escaped(part.etag))&quot;</ETag>"
                + (digest.map { "<ChecksumSHA256>\($0.base64EncodedString())</ChecksumSHA256>" } ?? "") + "</Part>"
        }
        let body =
            "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">\(elements.joined())"
            + "</CompleteMultipartUpload>"
        let key = key(of: upload.attachment)
        let answer = try await send("POST", key, ["uploadId": upload.id], body: Data(body.utf8))
        // S3 sends the status before it knows how the work ends.
        let code = S3Document(answer.body).elements("Error").first.flatMap { $0["Code"] }
        switch (answer.status, code) {
        case (200..<300, nil): return true
        case (_, let code?) where S3PartsStorage.refusals.contains(code): return false
        case (404, _), (410, _), (_, "NoSuchUpload"):
            guard try await isThere(key, upload.attachment) else { throw AttachmentStorageError.notFound }
            return true
        default: throw answer.failure(answer.status < 300 ? .unexpectedResponse : .status)
        }
    }

    /// Removes an upload and its parts.
    ///
    /// No error when there is none.
    public func abort(_ upload: AttachmentPartsUpload) async throws {
        try await abort(upload.id, of: key(of: upload.attachment))
    }

    /// Removes the uploads below the prefix of keys that began before a date and are not finished.
    ///
    /// A backend does that now and then, where the bucket has no lifecycle rule that does (`AbortIncompleteMultipartUpload`).
    ///
    /// - Parameter date: Uploads that began later stay. Let it be longer ago than apps continue uploads.
    /// - Returns: How many were removed.
    /// - Throws: `AttachmentTransferError`, `CancellationError`
    @discardableResult
    public func abortUploads(olderThan date: Date) async throws -> Int {
        var count = 0
        var markers: [String: String] = [:]
        repeat {
            var query = markers.merging(["uploads": ""]) { first, _ in first }
            if !keyPrefix.isEmpty { query["prefix"] = keyPrefix }
            let answer = try await send("GET", "", query)
            guard answer.status == 200 else { throw answer.failure() }
            let page = S3Document(answer.body)
            for upload in page.elements("Upload") {
                guard
                    let key = upload["Key"], key.hasPrefix(keyPrefix), let id = upload["UploadId"],
                    let began = upload["Initiated"].flatMap(S3PartsStorage.date), began < date
                else { continue }
                try await abort(id, of: key)
                count += 1
            }
            var next: [String: String] = [:]
            if page["IsTruncated"] == "true" {
                next["key-marker"] = page["NextKeyMarker"]
                next["upload-id-marker"] = page["NextUploadIdMarker"]
            }
            markers = next == markers ? [:] : next
        } while !markers.isEmpty
        return count
    }

    /// `2026-11-30T01:02:03.000Z`, with or without a fraction.
    private static func date(_ text: String) -> Date? {
        (try? Date(text, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true)))
            ?? (try? Date(text, strategy: .iso8601))
    }

    private func key(of attachment: Attachment) -> String { keyPrefix + attachment.filename }

    private func abort(_ id: String, of key: String) async throws {
        let answer = try await send("DELETE", key, ["uploadId": id])
        switch answer.status {
        case 200..<300, 404, 410: return
        default: throw answer.failure()
        }
    }

    private func isThere(_ key: String, _ attachment: Attachment) async throws -> Bool {
        let answer = try await send("HEAD", key, [:])
        switch answer.status {
        case 200..<300: return answer.header("Content-Length").flatMap { Int64($0) } == attachment.size
        case 404, 410: return false
        default: throw answer.failure()
        }
    }

    /// Asks the storage, and once again with its time when it refuses the signature and has another time.
    private func send(
        _ method: String,
        _ key: String,
        _ query: [String: String],
        headers: [String: String] = [:],
        body: Data = Data()
    ) async throws -> AttachmentHTTPClient.Answer {
        var answer = try await sendOnce(method, key, query, headers, body)
        if answer.status == 403, clock.correct(by: answer.header("Date")) {
            answer = try await sendOnce(method, key, query, headers, body)
        }
        return answer
    }

    private func sendOnce(
        _ method: String,
        _ key: String,
        _ query: [String: String],
        _ headers: [String: String],
        _ body: Data
    ) async throws -> AttachmentHTTPClient.Answer {
        let signed = signer.signedHeaders(
            method: method,
            key: key,
            headers: headers,
            query: query,
            payloadSHA256: FileDigest.sha256(of: body)
        )
        return try await http.send(
            method,
            AttachmentHTTPRequest(url: try signer.url(key: key, query: query), headers: signed),
            body: body
        )
    }
}

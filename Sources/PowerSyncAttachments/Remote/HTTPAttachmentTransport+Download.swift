import Foundation
import NIOCore
import NIOHTTP1
import PowerSyncClient
import PowerSyncHTTP

extension HTTPAttachmentTransport {
    /// Downloads to the path, or continues what an earlier attempt left there.
    ///
    /// Beside it, a file with the suffix `.state.pstmp` says how to continue. After success there is only the file itself, flushed to the
    /// disk; after a failure only what a later attempt can use. While another download writes there, it is left alone.
    ///
    /// A file that the storage sends compressed (`Content-Encoding`), which it is asked not to do, is written as it was before: sizes and
    /// digests of the app are those of that. Such a download always starts over. It may have as many bytes as the app expects; where the size
    /// is not known, 256 MiB.
    public func download(
        _ located: LocatedAttachment,
        progress: @escaping @Sendable (Int64, Int64?) -> Void
    ) async throws {
        let path = located.localPath
        let target = try await AttachmentCallPart.named("resolveDownload") { try await resolveDownload(located) }
        let remains = try await DownloadRemains.find(at: path)
        var record = remains.record
        // Without a tag nothing but the digest of the whole would tell that the rest belongs to the beginning.
        if record?.etag == nil, target.sha256 == nil { record = nil }
        while true {
            let request = makeRequest(target, continuing: record)
            let sent = try await http.send(request)
            let response = sent.response
            let status = response.status
            let answer = DownloadRecord.answer(status: status, header: response.headers.first(name:), to: record)
            if answer != nil, let compression = response.compression {
                throw AttachmentTransferError(
                    .unexpectedResponse,
                    message: "\(request.target): the file is compressed with \(compression), which nobody asked for",
                    httpStatus: status
                )
            }
            switch answer {
            case .startOver:
                record = nil
            case .rest where response.isDecompressed:
                // A part of what was compressed is nothing.
                record = nil
            case .whole(let total):
                let start = DownloadRecord(bytes: 0, etag: response.headers.strongETag, total: total)
                return try await receive(sent, to: request, target, remains, from: start, progress)
            case .rest(let total):
                var rest = DownloadRecord(bytes: 0, etag: record?.etag, total: total)
                rest.bytes = record?.offset ?? 0
                return try await receive(sent, to: request, target, remains, from: rest, progress)
            case nil where [404, 410].contains(status):
                await PartialDownload.discard(path)
                throw AttachmentStorageError.notFound
            case nil:
                throw await http.failure(
                    (200..<300).contains(status) ? .unexpectedResponse : .status,
                    of: request,
                    sent
                )
            }
        }
    }

    private func makeRequest(_ target: AttachmentHTTPRequest, continuing record: DownloadRecord?) -> HTTPExchangeRequest
    {
        var request = HTTPExchangeRequest(target, method: .GET)
        // Ranges and sizes are those of the file as it is stored.
        request.headers.replaceOrAdd(name: "Accept-Encoding", value: "identity")
        if let record {
            request.headers.replaceOrAdd(name: "Range", value: "bytes=\(record.offset)-")
            if let etag = record.etag { request.headers.replaceOrAdd(name: "If-Range", value: etag) }
        }
        return request
    }

    private func receive(
        _ answer: AttachmentHTTPAnswer,
        to request: HTTPExchangeRequest,
        _ target: AttachmentHTTPRequest,
        _ remains: DownloadRemains,
        from record: DownloadRecord,
        _ progress: @escaping @Sendable (Int64, Int64?) -> Void
    ) async throws {
        let response = answer.response
        var expectation = DownloadExpectation(
            total: record.total,
            size: target.size,
            isDecompressed: response.isDecompressed,
            request: request.target
        )
        expectation.digests = FileDigest.announced(
            header: response.headers.first(name:),
            isWholeFile: response.status != 206
        )
        if let digest = target.sha256 { expectation.digests.append(digest) }
        try expectation.checkAnnouncement()
        // Otherwise the file would fill the disk and be removed, again with each attempt.
        try await remains.checkRoom(after: record, upTo: expectation.bytes)
        var file = try await PartialDownload(
            remains,
            from: record,
            isResumable: !response.isDecompressed && (record.etag != nil || target.sha256 != nil),
            isHashed: !expectation.digests.isEmpty
        )
        defer { file.close() }
        do {
            progress(file.bytes, expectation.bytes)
            try await write(answer, of: request, to: &file, expectation, progress)
            try expectation.check(bytes: file.bytes, digest: file.digest())
            try await file.finish()
        } catch {
            if error.isFinal {
                await file.discard()
            } else {
                await file.interrupt()
            }
            throw error
        }
    }

    private func write(
        _ answer: AttachmentHTTPAnswer,
        of request: HTTPExchangeRequest,
        to file: inout PartialDownload,
        _ expectation: DownloadExpectation,
        _ progress: @escaping @Sendable (Int64, Int64?) -> Void
    ) async throws {
        let body = answer.response.body
        var waiting = ByteBuffer()
        while true {
            let chunk: ByteBuffer?
            do {
                chunk = try await body.next()
            } catch {
                // What has arrived counts.
                if waiting.readableBytes > 0 { try await file.write(waiting) }
                throw try http.transferError(error, of: request, answer.redirects)
            }
            // A cancelled response ends like a finished one.
            try Task.checkCancellation()
            if let chunk { waiting.writeImmutableBuffer(chunk) }
            // Small pieces are collected: each write is a visit to another thread.
            if waiting.readableBytes >= FileWork.chunkSize || (chunk == nil && waiting.readableBytes > 0) {
                try expectation.check(bytesSoFar: file.bytes + Int64(waiting.readableBytes))
                try await file.write(waiting)
                waiting.clear()
                progress(file.bytes, expectation.bytes)
            }
            if chunk == nil { return }
        }
    }
}

extension Error {
    /// Whether what has been written is of no use to a later attempt, or in its way.
    fileprivate var isFinal: Bool {
        switch self {
        case let error as AttachmentTransferError: [.sizeMismatch, .digestMismatch].contains(error.code)
        case let error as PowerSyncAttachmentError: error.isDiskFull
        default: false
        }
    }
}

extension HTTPHeaders {
    /// The entity tag, if it promises the same bytes.
    fileprivate var strongETag: String? {
        guard let etag = first(name: "ETag"), etag.count >= 2, etag.hasPrefix("\""), etag.hasSuffix("\"") else {
            return nil
        }
        return etag
    }
}

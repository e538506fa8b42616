public import Foundation
import PowerSyncClient

// Not `any AsyncSequence<Data, any Error>`, which Apple's systems have from iOS 18 and macOS 15 on only.

/// The content of a file that is to be saved, chunk by chunk, from whichever sequence the app has.
///
/// A ``LocalStorageAdapter`` gets it and iterates it once:
///
/// ```swift
/// func saveFile(filePath: String, chunks: AttachmentChunks) async throws -> Int64 {
///     for try await chunk in chunks { try append(chunk, to: filePath) }
/// ```
///
/// The next chunk is asked for when the one before has been taken. The sequence throws what the app's own throws.
public struct AttachmentChunks: AsyncSequence, Sendable {
    /// A piece of the file, of any length.
    public typealias Element = Data

    private let makeNext: @Sendable () -> () async throws -> Data?

    /// Takes chunks as they are asked for.
    ///
    /// - Parameter makeNext: Begins an iteration: makes what gives the next chunk, `nil` after the last.
    init(makeNext: @escaping @Sendable () -> () async throws -> Data?) {
        self.makeNext = makeNext
    }

    /// Takes the chunks of a sequence.
    ///
    /// - Parameter base: The sequence.
    public init<Base: AsyncSequence & Sendable>(_ base: Base) where Base.Element == Data {
        makeNext = {
            var iterator = base.makeAsyncIterator()
            return { try await iterator.next() }
        }
    }

    /// The pieces of a file.
    ///
    /// - Parameter read: Reads so many bytes at an offset, on a thread that it may block; fewer at the end only.
    init(reading read: @escaping @Sendable (_ offset: Int64, _ count: Int) throws -> Data) {
        makeNext = {
            var offset: Int64 = 0
            return {
                try Task.checkCancellation()
                let start = offset
                let piece = try await FileWork.run { try read(start, FileWork.chunkSize) }
                offset += Int64(piece.count)
                return piece.isEmpty ? nil : piece
            }
        }
    }

    /// One chunk.
    init(one data: Data) {
        makeNext = {
            var rest: Data? = data
            return {
                defer { rest = nil }
                return rest
            }
        }
    }

    /// Begins with the first chunk, if the app's sequence can be iterated again.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(nextChunk: makeNext())
    }

    /// Iterates the chunks.
    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate let nextChunk: () async throws -> Data?

        /// The next chunk; `nil` after the last.
        public mutating func next() async throws -> Data? {
            try await nextChunk()
        }
    }
}

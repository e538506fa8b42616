import AsyncHTTPClient
import NIOCore
import NIOHTTP1

/// The floor of the network: the bytes of a first sync, received by AsyncHTTPClient and not looked at.
struct DownloadFloor: Codable {
    /// What is measured.
    struct Result: Codable {
        var seconds: Double
        var cpuSeconds: Double
        var bytes: Int
    }

    /// Where the service is.
    var address: ServiceProcess.Address
    /// The media type to ask for.
    var mediaType: String

    /// Receives up to the line that completes the checkpoint, the last one before the service waits.
    func run() async throws -> Result {
        var request = HTTPClientRequest(url: address.url + "/sync/stream")
        request.method = .POST
        request.headers.add(name: "Authorization", value: "Token \(address.token)")
        request.headers.add(name: "Content-Type", value: "application/json")
        request.headers.add(name: "Accept", value: mediaType)
        request.body = .bytes(ByteBuffer(string: #"{"raw_data":true,"include_checksum":true,"buckets":[]}"#))

        let before = ProcessUsage.now
        let start = ContinuousClock.now
        let response = try await HTTPClient.shared.execute(request, timeout: .minutes(10))
        guard response.status == .ok else { throw ChildProcess.Failure(description: "\(response.status)") }
        var bytes = 0
        var end: [UInt8] = []
        for try await chunk in response.body {
            bytes += chunk.readableBytes
            end += chunk.readableBytesView.suffix(Self.endLength)
            end.removeFirst(max(0, end.count - Self.endLength))
            if String(decoding: end, as: UTF8.self).contains("checkpoint_complete") { break }
        }
        return Result(
            seconds: (ContinuousClock.now - start) / .seconds(1),
            cpuSeconds: (ProcessUsage.now.cpu - before.cpu) / .seconds(1),
            bytes: bytes
        )
    }

    /// More than the last line has.
    private static let endLength = 96
}

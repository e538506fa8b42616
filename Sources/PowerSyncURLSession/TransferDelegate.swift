import Foundation
import NIOConcurrencyHelpers
import PowerSyncHTTP

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Gives what a session says to the transfer that it is about.
final class TransferDelegate: NSObject, URLSessionDataDelegate {
    private let transfers = NIOLockedValueBox<[Int: Transfer]>([:])

    func add(_ transfer: Transfer, of task: URLSessionTask) {
        transfers.withLockedValue { $0[task.taskIdentifier] = transfer }
    }

    private func transfer(of task: URLSessionTask) -> Transfer? {
        transfers.withLockedValue { $0[task.taskIdentifier] }
    }

    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        if let head = response as? HTTPURLResponse { transfer(of: dataTask)?.received(head) }
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        transfer(of: dataTask)?.received(data)
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        // The sender of the request decides, for only it knows what may go to another host.
        completionHandler(nil)
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didSendBodyData bytesSent: Int64,
        totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        transfer(of: task)?.sent(totalBytesSent)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let transfer = transfers.withLockedValue { $0.removeValue(forKey: task.taskIdentifier) }
        // swift-corelibs-foundation does not tell of the head of a redirect that leads nowhere.
        if error == nil, let head = task.response as? HTTPURLResponse { transfer?.received(head) }
        transfer?.completed(error)
    }
}

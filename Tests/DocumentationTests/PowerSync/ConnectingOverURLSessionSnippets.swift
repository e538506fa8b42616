import Foundation
import PowerSync
import PowerSyncURLSession

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

func connectOverURLSession() -> ConnectOptions {
    var options = ConnectOptions()
    let configuration = URLSessionConfiguration.default
    configuration.httpAdditionalHeaders = ["X-Tenant": "north"]
    configuration.allowsCellularAccess = false
    let client = PowerSyncHTTPClient.urlSession(URLSession(configuration: configuration))
    options.clientConfiguration = SyncClientConfiguration(httpClient: client)
    return options
}

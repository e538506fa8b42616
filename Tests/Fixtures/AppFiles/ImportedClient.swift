// What an app loses by an import that brings much along.
import Foundation
import PowerSync

#if WITH_CLIENT
import AsyncHTTPClient
#endif

func ids(_ texts: [String]) -> [UUID] { texts.compactMap(UUID.init) }

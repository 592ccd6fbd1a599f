"""JSON models of requests and answers. The OpenAPI document is made from them."""
